// What all published documents share: draft, findings, publication, versions, differences.

import { ReactNode, useState } from "react";
import type { ConfigDocument } from "../../generated/api";
import { request, Tagged } from "../api/client";
import { Problem } from "../api/problem";
import { Area } from "../api/session";
import { callIn, given, Place, usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, PageHead, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { Loaded, useLoad, usePages } from "../system/load";
import { go, setQuery } from "../system/router";
import { Table } from "../system/table";
import { ago, t } from "../text";

export type Kind = "configuration" | "flags" | "experiment" | "translation" | "definition";

export interface Draft {
  document: ConfigDocument;
  draft: Record<string, any>;
}

export const path = "/admin/apps/{app}/config/{kind}/{name}";

export function useDraft(kind: Kind, name: string): Loaded<Tagged<Draft>> {
  const place = usePlace();
  return useLoad(async () => {
    // The list first: a browser reports a request for a document that is not there as an error.
    const document = await readDocument(place, kind, name);
    if (!document) throw new Problem(404, "not-found", t("It was never saved, or somebody has deleted it."));
    const draft = await request("GET " + path, given(place, { kind, name }));
    return { tag: draft.tag, body: { draft: draft.body, document } };
  }, [place.app.id, place.environment, kind, name]);
}

/** The flags of the draft, by name. */
export async function readFlags(place: Place): Promise<Record<string, any>> {
  // The list first, as above.
  const kind = given(place, { kind: "flags" });
  const list = await request("GET /admin/apps/{app}/config/{kind}", { ...kind, query: { limit: 1 } });
  if (list.body.data.length === 0) return {};
  return (await request("GET " + path, given(place, { kind: "flags", name: "default" }))).body.flags ?? {};
}

/** The list's entry for a document; no call returns it for a single document. */
async function readDocument(place: Place, kind: Kind, name: string): Promise<ConfigDocument | undefined> {
  let after: string | undefined;
  do {
    const page = await callIn(place, "GET /admin/apps/{app}/config/{kind}", {
      path: { kind },
      query: { after, limit: 100 }
    });
    const found = page.data?.find((one) => one.name === name);
    if (found) return found;
    after = page.next;
  } while (after);
  return undefined;
}

/** Stores a draft and returns its tag; throws 412 if somebody else changed it since it was read. */
export async function putDraft(
  place: Place,
  kind: Kind,
  name: string,
  draft: unknown,
  tag: string | null
): Promise<string | null> {
  const headers: Record<string, string> = tag === null ? { "if-none-match": "*" } : { "if-match": tag };
  return (await request("PUT " + path, { ...given(place, { kind, name }), body: draft, headers })).tag;
}

export function DocumentState({ document }: { document: ConfigDocument }) {
  if (document.liveVersion == null) return <Badge>{t("Not published")}</Badge>;
  if (document.isChanged) {
    return <Badge tone="warning">{t("Changed since version {n}", { n: document.liveVersion })}</Badge>;
  }
  return <Badge tone="good">{t("Live: version {n}", { n: document.liveVersion })}</Badge>;
}

export function DocumentList(
  { kind, page, title, note, area, empty, make, extra, about }: {
    kind: Kind;
    page: string;
    title: string;
    note: string;
    area: Area;
    empty: string;
    make?: ReactNode;
    extra?: ReactNode;
    /** What the content of a document says about it. */
    about?: (name: string) => { title?: string; state?: ReactNode } | undefined;
  }
) {
  const place = usePlace();
  const list = usePages<ConfigDocument>(
    async (after) =>
      (await request("GET /admin/apps/{app}/config/{kind}", { ...given(place, { kind }), query: { after, limit: 50 } }))
        .body,
    [place.app.id, place.environment, kind]
  );
  const fits = (document: ConfigDocument) =>
    !place.version || kind === "experiment" || (document.name ?? "").split("~")[0] === place.version;
  return (
    <div className="page">
      <PageHead title={title} note={note}>{extra}{place.may(area, "create") && make}</PageHead>
      <Show from={list}>
        {(rows) => (
          <Table
            label={title}
            rows={rows.filter(fits)}
            id={(one) => one.name ?? ""}
            hasMore={list.hasMore}
            more={list.more}
            to={(one) => place.to(`${page}/${encodeURIComponent(one.name ?? "")}`)}
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (one) => {
                  const subtitle = about?.(one.name ?? "")?.title;
                  return (
                    <span className="two-lines">
                      <Link to={place.to(`${page}/${encodeURIComponent(one.name ?? "")}`)}>{one.name}</Link>
                      {subtitle && <span className="faint">{subtitle}</span>}
                    </span>
                  );
                }
              },
              {
                name: "state",
                title: t("State"),
                width: "230px",
                cell: (one) => about?.(one.name ?? "")?.state ?? <DocumentState document={one} />
              },
              {
                name: "live",
                title: t("Live since"),
                width: "150px",
                isExtra: true,
                cell: (one) => <span className="soft">{one.liveSince && ago(one.liveSince as string)}</span>
              },
              {
                name: "changed",
                title: t("Changed"),
                width: "150px",
                isExtra: true,
                cell: (one) => <span className="soft">{one.changed && ago(one.changed)}</span>
              }
            ]}
            empty={
              <Empty
                icon="config"
                title={rows.length > 0 ?
                  t("Nothing for version {version}", { version: place.version }) :
                  t("Nothing here yet")}
                action={rows.length === 0 && place.may(area, "create") ?
                  make :
                  <Button onPress={() => setQuery({ version: "" })}>{t("Show all versions")}</Button>}>
                {empty}
              </Empty>
            } />
        )}
      </Show>
    </div>
  );
}

/** Makes a document and opens it. */
export function NewDocument(
  { kind, page, title, label, placeholder, hint, start, close }: {
    kind: Kind;
    page: string;
    title: string;
    label: string;
    placeholder: string;
    hint?: string;
    start: (name: string) => unknown;
    close: () => void;
  }
) {
  const place = usePlace();
  const [name, setName] = useState(place.version && kind !== "experiment" ? place.version : "");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    try {
      await putDraft(place, kind, name, start(name), null);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 412) throw error;
    }
    go(place.to(`${page}/${encodeURIComponent(name)}`));
  };
  return (
    <Dialog title={title} close={close}>
      <Form send={send} action={t("Create")} cancel={close} fields={["name"]} report={report}>
        <TextField
          label={label}
          value={name}
          change={setName}
          isRequired
          autoFocus
          placeholder={placeholder}
          hint={hint}
          error={errorOf("name", problem)} />
      </Form>
    </Dialog>
  );
}
