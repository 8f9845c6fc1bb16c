// Publishing a draft, what it changes, and the versions before it.

import { useState } from "react";
import type { ConfigVersion } from "../../generated/api";
import { request } from "../api/client";
import { Problem } from "../api/problem";
import { given, Place, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Notice, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Check, Form, TextField } from "../system/form";
import { Finding, JSONView, pretty } from "../system/json";
import { useLoad, usePages } from "../system/load";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, t, time } from "../text";
import { Kind, path } from "./document";

export function Publish(
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
            <Notice>{t("The draft equals the live version.")}</Notice> :
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

/** The content of the live version; null if there is none. */
export async function readLive(place: Place, kind: Kind, name: string): Promise<unknown> {
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

export function Versions(
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
      <Scheduled kind={kind} name={name} isReadOnly={isReadOnly} />
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

interface Schedule {
  id: string;
  kind: string;
  name: string;
  at: string;
  note: string;
  state: "waiting" | "published" | "cancelled" | "failed";
  problem: string | null;
}

/** Publications that are to come, and the last one that failed. */
function Scheduled({ kind, name, isReadOnly }: { kind: Kind; name: string; isReadOnly: boolean }) {
  const place = usePlace();
  const list = useLoad(async () => {
    const query = { limit: 200 };
    const all = (await request("GET /admin/apps/{app}/config/schedules", { ...given(place), query })).body
      .data as Schedule[];
    const mine = all.filter((one) => one.kind === kind && one.name === name);
    return mine.filter((one, index) => one.state === "waiting" || (one.state === "failed" && index === 0));
  }, [kind, name, place.environment]);
  const cancel = async (schedule: Schedule) => {
    await request("DELETE /admin/apps/{app}/config/schedules/{id}", given(place, { id: schedule.id }));
    say(t("Cancelled"));
    list.reload();
  };
  return (
    <>
      {(list.data ?? []).map((one) => (
        <Notice key={one.id} tone={one.state === "failed" ? "bad" : "neutral"}>
          {one.state === "failed" ?
            t("The publication planned for {when} failed: {reason}", {
              when: time(one.at),
              reason: one.problem ?? ""
            }) :
            t("Will be published: {when}", { when: time(one.at) })} {one.note}{" "}
          {one.state === "waiting" && !isReadOnly && (
            <Button isSmall onPress={() => cancel(one)}>{t("Cancel the publication")}</Button>
          )}
        </Notice>
      ))}
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
