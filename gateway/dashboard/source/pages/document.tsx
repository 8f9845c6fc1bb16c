// What all published documents share: draft, findings, publication, versions, differences.

import { ReactNode, useEffect, useMemo, useState } from "react";
import type { ConfigDocument, ConfigVersion } from "../../generated/api";
import { request, Tagged } from "../api/client";
import { Problem } from "../api/problem";
import { Area } from "../api/session";
import { callIn, given, Place, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Link, Menu, Notice, PageHead, sayProblem, Show, Tabs } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Check, errorOf, Form, TextField } from "../system/form";
import { Finding, JSONEditor, JSONView, parse, pretty, useUnsaved } from "../system/json";
import { Loaded, useLoad, usePages } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, t, time } from "../text";

export type Kind = "configuration" | "flags" | "experiment" | "translation" | "definition";

export interface Draft {
  document: ConfigDocument;
  draft: Record<string, any>;
}

const path = "/admin/apps/{app}/config/{kind}/{name}";

export function useDraft(kind: Kind, name: string): Loaded<Tagged<Draft>> {
  const place = usePlace();
  return useLoad(async () => {
    const draft = await request("GET " + path, given(place, { kind, name }));
    return { tag: draft.tag, body: { draft: draft.body, document: await readDocument(place, kind, name) } };
  }, [place.app.id, place.environment, kind, name]);
}

/** What the list says of a document: no call has it for one alone. */
async function readDocument(place: Place, kind: Kind, name: string): Promise<ConfigDocument> {
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
  return { kind, name };
}

/** Stores a draft; throws 412 if somebody else changed it since it was read. */
export async function putDraft(
  place: Place,
  kind: Kind,
  name: string,
  draft: unknown,
  tag: string | null
): Promise<void> {
  const headers: Record<string, string> = tag === null ? { "if-none-match": "*" } : { "if-match": tag };
  await request("PUT " + path, { ...given(place, { kind, name }), body: draft, headers });
}

export function DocumentState({ document }: { document: ConfigDocument }) {
  if (document.liveVersion == null) return <Badge>{t("Not published")}</Badge>;
  if (document.isChanged) {
    return <Badge tone="warning">{t("Changed since version {n}", { n: document.liveVersion })}</Badge>;
  }
  return <Badge tone="good">{t("Live: version {n}", { n: document.liveVersion })}</Badge>;
}

export function DocumentList(
  { kind, page, title, note, area, empty, make, extra }: {
    kind: Kind;
    page: string;
    title: string;
    note: string;
    area: Area;
    empty: string;
    make?: ReactNode;
    extra?: ReactNode;
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
                cell: (one) => <Link to={place.to(`${page}/${encodeURIComponent(one.name ?? "")}`)}>{one.name}</Link>
              },
              { name: "state", title: t("State"), width: "230px", cell: (one) => <DocumentState document={one} /> },
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

interface EditorProperties {
  kind: Kind;
  name: string;
  area: Area;
  back?: { to: string; title: string };
  title?: ReactNode;
  /** Tabs before the JSON, which edit the draft in another way. */
  views?: {
    name: string;
    title: string;
    show: (draft: any, change: (draft: any) => void, save: (draft: any) => Promise<void>) => ReactNode;
  }[];
  actions?: (loaded: Loaded<Tagged<Draft>>) => ReactNode;
  start?: unknown;
  note?: string;
}

/** The page of one document. */
export function DocumentPage(properties: EditorProperties) {
  const loaded = useDraft(properties.kind, properties.name);
  const isMissing = loaded.error instanceof Problem && loaded.error.status === 404 && properties.start !== undefined;
  if (isMissing) {
    const fresh: Tagged<Draft> = {
      tag: null,
      body: {
        document: { kind: properties.kind, name: properties.name },
        draft: properties.start as Record<string, any>
      }
    };
    return <Editor key="new" {...properties} loaded={{ ...loaded, data: fresh, error: undefined }} />;
  }
  return (
    <Show from={{ ...loaded, data: loaded.data }} lines={10}>
      {(data) => <Editor key={data.tag ?? ""} {...properties} loaded={{ ...loaded, data }} />}
    </Show>
  );
}

function Editor(
  { kind, name, area, back, title, views = [], actions, note, loaded }: EditorProperties & {
    loaded: Loaded<Tagged<Draft>> & { data: Tagged<Draft> };
  }
) {
  const place = usePlace();
  const { query } = useAddress();
  const { body, tag } = loaded.data;
  const stored = useMemo(() => pretty(body.draft), [body]);
  const [text, setText] = useState(stored);
  const [findings, setFindings] = useState<Finding[]>([]);
  const [publishing, setPublishing] = useState(false);
  const [dialog, ask] = useConfirm();
  const isChanged = text !== stored;
  useUnsaved(isChanged);
  const parsed = useMemo(() => parse(text), [text]);
  const tab = query.get("tab") ?? views[0]?.name ?? "json";
  const isReadOnly = !place.may(area, tag === null ? "create" : "update");
  useEffect(() => {
    if (tag === null) return;
    request(`POST ${path}/check`, given(place, { kind, name })).then((answer) =>
      setFindings(answer.body.findings ?? [])
    ).catch(() => undefined);
  }, []);

  const store = async (draft: unknown) => {
    try {
      await putDraft(place, kind, name, draft, tag);
    } catch (error) {
      if (error instanceof Problem && error.status === 422 && Array.isArray(error.body.findings)) {
        setFindings(error.body.findings);
      }
      throw error;
    }
    setText(pretty(draft));
    loaded.reload();
  };
  const save = async () => {
    await store(parsed.value);
    say(t("Draft saved"));
  };
  const key = (event: KeyboardEvent) => {
    if ((event.metaKey || event.ctrlKey) && event.key === "s") {
      event.preventDefault();
      if (isChanged && !parsed.error && !isReadOnly) save().catch(sayProblem);
    }
  };
  const act = (verb: string, done: string) => async () => {
    await request(`POST ${path}/${verb}`, { ...given(place, { kind, name }) });
    say(done);
    loaded.reload();
  };
  const change = (draft: unknown) => setText(pretty(draft));
  const errors = findings.filter((finding) => finding.severity === "error").length;
  const view = views.find((one) => one.name === tab);
  const isExperiment = kind === "experiment";

  return (
    <div className="page" onKeyDown={key}>
      <PageHead
        title={
          <>
            {title ?? name} <DocumentState document={body.document} />
          </>
        }
        back={back}
        note={note}>
        {actions?.(loaded)}
        {isChanged && !isReadOnly && <Button onPress={() => setText(stored)}>{t("Discard")}</Button>}
        {!isReadOnly && (
          <Button onPress={save} isDisabled={(!isChanged && tag !== null) || parsed.error !== undefined}>
            {t("Save draft")}
          </Button>
        )}
        {!isReadOnly && !isExperiment && (
          <Button
            kind="primary"
            isDisabled={isChanged || tag === null || errors > 0 ||
              (body.document.liveVersion != null && !body.document.isChanged)}
            onPress={() => setPublishing(true)}>
            {t("Publish")}
          </Button>
        )}
        <Menu
          label={t("More")}
          items={[
            {
              title: place.environment === "live" ? t("Copy from test") : t("Copy from live"),
              isHidden: isReadOnly || isExperiment,
              act: () =>
                ask({
                  title: t("Copy from the other environment?"),
                  action: t("Publish here"),
                  isDanger: false,
                  text: t("What is live there becomes the next version here, at once."),
                  act: async () => {
                    await request(`POST ${path}/promote`, {
                      ...given(place, { kind, name }),
                      body: { from: place.environment === "live" ? "test" : "live" }
                    });
                    loaded.reload();
                  }
                })
            },
            {
              title: t("Withdraw"),
              isHidden: isReadOnly || isExperiment || body.document.liveVersion == null,
              act: () =>
                ask({
                  title: t("Withdraw {name}?", { name }),
                  action: t("Withdraw"),
                  text: t("Clients no longer get it, until it is published again."),
                  act: act("withdraw", t("Withdrawn"))
                })
            },
            {
              title: t("Delete"),
              isDanger: true,
              isHidden: tag === null || !place.may(area, "delete"),
              act: () =>
                ask({
                  title: t("Delete {name}?", { name }),
                  action: t("Delete"),
                  typed: name,
                  text: t("The draft is gone for good, and clients no longer get it."),
                  act: async () => {
                    await request("DELETE " + path, { ...given(place, { kind, name }), headers: { "if-match": "*" } });
                    if (back) go(back.to);
                    else loaded.reload();
                  }
                })
            }
          ]} />
      </PageHead>
      <Tabs
        label={t("Views")}
        current={tab}
        choose={(next) => setQuery({ tab: next })}
        tabs={[
          ...views.map((one) => ({ name: one.name, title: one.title })),
          {
            name: "json",
            title: errors > 0 ?
              (
                <>
                  JSON <Badge tone="bad">{errors}</Badge>
                </>
              ) :
              "JSON"
          },
          ...(tag !== null ? [{ name: "diff", title: t("Changes") }, { name: "versions", title: t("Versions") }] : [])
        ]} />
      {view ?
        (parsed.error ?
          <Notice tone="bad">{t("The JSON has an error; mend it there first.")}</Notice> :
          view.show(parsed.value, change, store)) :
        tab === "diff" ?
        <Changes kind={kind} name={name} on={tag} isLive={body.document.liveVersion != null} isUnsaved={isChanged} /> :
        tab === "versions" ?
        <Versions kind={kind} name={name} rolledBack={loaded.reload} isReadOnly={isReadOnly || isExperiment} /> :
        (
          <JSONEditor
            label={t("Draft of {name}", { name })}
            text={text}
            change={(next) => {
              setText(next);
              setFindings([]);
            }}
            findings={findings}
            isReadOnly={isReadOnly}
            lines={30} />
        )}
      {publishing && (
        <Publish
          kind={kind}
          name={name}
          isLive={body.document.liveVersion != null}
          close={() => setPublishing(false)}
          done={() => {
            setPublishing(false);
            loaded.reload();
          }}
          refused={setFindings} />
      )}
      {dialog}
    </div>
  );
}

function Publish(
  { kind, name, isLive, close, done, refused }: {
    kind: Kind;
    name: string;
    isLive: boolean;
    close: () => void;
    done: () => void;
    refused: (findings: Finding[]) => void;
  }
) {
  const place = usePlace();
  const [note, setNote] = useState("");
  const [isLater, setLater] = useState(false);
  const [at, setAt] = useState("");
  const send = async () => {
    const body = { ...(note ? { note } : {}), ...(isLater && at ? { at: new Date(at).toISOString() } : {}) };
    try {
      await request(`POST ${path}/publish`, { ...given(place, { kind, name }), body });
    } catch (error) {
      if (error instanceof Problem && Array.isArray(error.body.findings)) refused(error.body.findings);
      throw error;
    }
    say(isLater ? t("Scheduled") : t("Published: clients get it within a second."));
    done();
  };
  return (
    <Dialog title={t("Publish {name}", { name })} close={close} isWide>
      <Changes kind={kind} name={name} on={null} isLive={isLive} />
      <Form send={send} action={isLater ? t("Schedule") : t("Publish")} cancel={close}>
        <TextField
          label={t("Note")}
          value={note}
          change={setNote}
          isOptional
          autoFocus
          placeholder={t("What changes, and why")} />
        <Check label={t("At a later time")} value={isLater} change={setLater} />
        {isLater && <TextField label={t("When")} type="datetime-local" value={at} change={setAt} isRequired />}
      </Form>
    </Dialog>
  );
}

interface Patch {
  op: string;
  path: string;
  value?: unknown;
  from?: string;
}

export function Changes(
  { kind, name, on, isLive, isUnsaved }: {
    kind: Kind;
    name: string;
    on: string | null;
    isLive: boolean;
    isUnsaved?: boolean;
  }
) {
  const place = usePlace();
  const diff = useLoad(async () => {
    if (!isLive) return { patch: null, live: null };
    const answer = await request(`GET ${path}/diff`, given(place, { kind, name }));
    return { patch: answer.body.patch as Patch[], live: await readLive(place, kind, name) };
  }, [kind, name, on, isLive, place.environment]);
  return (
    <div className="stack">
      {isUnsaved && <Notice>{t("Compares what is saved. Save the draft to see the latest edits here.")}</Notice>}
      <Show from={diff} lines={2}>
        {({ patch, live }) =>
          patch === null ?
            <Notice>{t("Nothing is live yet: everything is new.")}</Notice> :
            patch.length === 0 ?
            <Notice>{t("The draft is what is live.")}</Notice> :
            (
              <ul className="diff" aria-label={t("Changes")}>
                {patch.map((one, index) => (
                  <li key={index}>
                    <code>{one.path || "/"}</code>
                    <code>{one.op !== "add" && <del>{short(valueAt(live, one.path))}</del>}</code>
                    <code>
                      {one.op !== "remove" && (
                        <ins>
                          {short(one.op === "move" || one.op === "copy" ? valueAt(live, one.from ?? "") : one.value)}
                        </ins>
                      )}
                    </code>
                  </li>
                ))}
              </ul>
            )}
      </Show>
    </div>
  );
}

async function readLive(place: Place, kind: Kind, name: string): Promise<unknown> {
  const versions = (await request(`GET ${path}/versions`, { ...given(place, { kind, name }), query: { limit: 100 } }))
    .body.data as ConfigVersion[];
  const live = versions.find((one) => one.isLive);
  if (!live?.version) return null;
  return (await request(`GET ${path}/versions/{version}`, given(place, { kind, name, version: live.version }))).body
    .content;
}

function valueAt(document: unknown, pointer: string): unknown {
  return pointer.split("/").slice(1).map((part) => part.replace(/~1/g, "/").replace(/~0/g, "~"))
    .reduce<any>((value, part) => (value && typeof value === "object" ? value[part] : undefined), document);
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return text.length > 300 ? text.slice(0, 300) + "…" : text;
}

function Versions(
  { kind, name, rolledBack, isReadOnly }: { kind: Kind; name: string; rolledBack: () => void; isReadOnly: boolean }
) {
  const place = usePlace();
  const [shown, show] = useState<number | null>(null);
  const [dialog, ask] = useConfirm();
  const list = usePages<ConfigVersion>(
    async (before) =>
      (await request(`GET ${path}/versions`, { ...given(place, { kind, name }), query: { before, limit: 30 } })).body,
    [kind, name, place.environment]
  );
  const rollBack = (version: number) =>
    ask({
      title: t("Go back to version {n}?", { n: version }),
      action: t("Go back"),
      isDanger: false,
      text: t("Its content becomes the next version and is live within a second. The draft stays as it is."),
      act: async () => {
        await request(`POST ${path}/rollback`, { ...given(place, { kind, name }), body: { version } });
        say(t("Version {n} is live again", { n: version }));
        list.reload();
        rolledBack();
      }
    });
  return (
    <>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Versions")}
            rows={rows}
            id={(one) => one.version ?? 0}
            open={(one) => show(one.version ?? 0)}
            hasMore={list.hasMore}
            more={list.more}
            empty={<Empty icon="config" title={t("Not published yet")} />}
            columns={[
              {
                name: "version",
                title: t("Version"),
                width: "100px",
                cell: (one) => <span className="strong">{one.version}</span>
              },
              {
                name: "live",
                title: "",
                width: "90px",
                cell: (one) => one.isLive && <Badge tone="good">{t("Live")}</Badge>
              },
              {
                name: "note",
                title: t("Note"),
                cell: (one) =>
                  one.note || (
                    <span className="faint">
                      {one.origin === "rollback" ?
                        t("Back to version {n}", { n: (one.sourceVersion as number) ?? 0 }) :
                        "–"}
                    </span>
                  )
              },
              {
                name: "when",
                title: t("Published"),
                width: "150px",
                cell: (one) => (
                  <span className="soft" title={one.published && time(one.published)}>
                    {one.published && ago(one.published)}
                  </span>
                )
              },
              {
                name: "back",
                title: "",
                width: "120px",
                cell: (one) =>
                  !one.isLive && !isReadOnly && (
                    <Button isSmall onPress={() => rollBack(one.version ?? 0)}>{t("Go back")}</Button>
                  )
              }
            ]} />
        )}
      </Show>
      {shown !== null && <VersionDialog kind={kind} name={name} version={shown} close={() => show(null)} />}
      {dialog}
    </>
  );
}

function VersionDialog(
  { kind, name, version, close }: { kind: Kind; name: string; version: number; close: () => void }
) {
  const place = usePlace();
  const loaded = useLoad(
    async () =>
      (await request(`GET ${path}/versions/{version}`, given(place, { kind, name, version }))).body as ConfigVersion,
    [version]
  );
  return (
    <Dialog title={t("Version {number}", { number: String(version) })} close={close} isWide>
      <Show from={loaded}>
        {(found) => (
          <>
            <p className="faint">
              SHA-256 <code className="break">{found.sha256}</code>{" "}
              <Copy text={pretty(found.content)} label={t("Copy the content")} />
            </p>
            <JSONView value={found.content} />
          </>
        )}
      </Show>
    </Dialog>
  );
}
