// What devices will download after a publication, who gets it first, and previews of the draft on test devices.

import { useState } from "react";
import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Link, Notice, Section, Show } from "../system/basics";
import { Choice } from "../system/form";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, bytes, plural, t, time } from "../text";
import { Definition, downloads } from "./definition";
import { path, readFlags } from "./document";
import { readLive } from "./DocumentVersions";

interface Properties {
  name: string;
  draft: Definition;
  change: (draft: Definition) => void;
  isReadOnly: boolean;
}

export function Rollout(properties: Properties) {
  return (
    <div className="stack-large">
      <Downloads name={properties.name} draft={properties.draft} />
      <FirstUsers {...properties} />
      {!properties.isReadOnly && <Previews name={properties.name} />}
    </div>
  );
}

interface Part {
  path: string;
  isNew: boolean;
  size: number;
  compressed: number | undefined;
}

function Downloads({ name, draft }: { name: string; draft: Definition }) {
  const place = usePlace();
  const sizes = useLoad(
    async () => changed(await readLive(place, "definition", name) as Definition | null, draft),
    [place.app.id, place.environment, name, JSON.stringify(draft)]
  );
  const parts = sizes.data ?? [];
  const sum = (size: (part: Part) => number) => parts.reduce((total, part) => total + size(part), 0);
  return (
    <Section
      title={t("What devices download")}
      note={parts.length > 0 && (
        <>
          {plural(parts.length, "{n} part", "{n} parts")}: {bytes(sum((part) => part.size))}
          {parts.every((part) => part.compressed !== undefined) && (
            <>, {t("{size} compressed", { size: bytes(sum((part) => part.compressed ?? 0)) })}</>
          )}
        </>
      )}>
      <Show from={sizes} lines={2}>
        {(rows) => (
          <Table
            label={t("What devices download")}
            rows={rows}
            id={(part) => part.path}
            empty={<Notice>{t("The draft equals the live version.")}</Notice>}
            columns={[
              { name: "part", title: t("Part"), cell: (part) => <code>{part.path}</code> },
              {
                name: "state",
                title: "",
                width: "110px",
                cell: (part) => (
                  <Badge tone={part.isNew ? "good" : "neutral"}>{part.isNew ? t("new") : t("changed")}</Badge>
                )
              },
              { name: "size", title: t("Size"), isNumber: true, width: "120px", cell: (part) => bytes(part.size) },
              {
                name: "compressed",
                title: t("Compressed"),
                isNumber: true,
                isExtra: true,
                width: "120px",
                cell: (part) => part.compressed === undefined ? "" : bytes(part.compressed)
              }
            ]} />
        )}
      </Show>
    </Section>
  );
}

/** The parts of the draft that a device with the live version does not have yet. */
async function changed(live: Definition | null, draft: Definition): Promise<Part[]> {
  const known = new Set(live ? downloads(live).values() : []);
  const former = live ? downloads(live) : new Map<string, string>();
  const found: Part[] = [];
  for (const [name, text] of downloads(draft)) {
    if (known.has(text)) continue;
    const content = new Blob([text]);
    found.push({ path: name, isNew: !former.has(name), size: content.size, compressed: await gzippedSize(content) });
  }
  return found;
}

async function gzippedSize(content: Blob): Promise<number | undefined> {
  const { CompressionStream } = window as { CompressionStream?: new (format: string) => any };
  if (!CompressionStream) return undefined;
  const stream = (content as any).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).blob()).size;
}

/** The flag that decides who gets the new version. */
function FirstUsers({ name, draft, change, isReadOnly }: Properties) {
  const place = usePlace();
  const choices = useLoad(async () => {
    const [flags, versions] = await Promise.all([
      readFlags(place),
      request(`GET ${path}/versions`, { ...given(place, { kind: "definition", name }), query: { limit: 100 } })
    ]);
    return {
      flags: Object.entries(flags as Record<string, { type?: string }>).filter(([, flag]) => flag.type === "boolean")
        .map((
          [flag]
        ) => flag),
      versions: (versions.body.data as { version: number }[]).map((one) => one.version)
    };
  }, [place.app.id, place.environment, name]);
  const { flag = "", otherwise } = draft.rollout ?? {};
  const set = (next: Definition["rollout"]) => {
    const { rollout: _, ...rest } = draft;
    change(next ? { ...rest, rollout: next } : rest);
  };
  return (
    <Section
      title={t("Who gets it first")}
      note={t(
        "Users for whom the flag is on get this version, all others an earlier one. Raise the flag's share step by step."
      )}>
      <Show from={choices} lines={2}>
        {({ flags, versions }) =>
          versions.length === 0 ?
            <Notice>{t("The first version goes to everybody.")}</Notice> :
            flags.length === 0 && !flag ?
            (
              <Empty icon="flag" title={t("No boolean flags yet")}>
                <Link to={place.to("flags")}>{t("Make a boolean flag first.")}</Link>
              </Empty>
            ) :
            (
              <div className="pair">
                <Choice
                  label={t("Flag")}
                  value={flag}
                  isDisabled={isReadOnly}
                  change={(next) => set(next ? { flag: next, otherwise: otherwise ?? versions[0] ?? 1 } : undefined)}
                  options={[
                    { value: "", title: t("None: everybody gets it") },
                    ...[...new Set([...flags, ...(flag ? [flag] : [])])].map((one) => ({ value: one, title: one }))
                  ]} />
                {flag && (
                  <Choice
                    label={t("All others get")}
                    value={String(otherwise ?? "")}
                    isDisabled={isReadOnly}
                    change={(next) => set({ flag, otherwise: Number(next) })}
                    options={versions.map((one) => ({
                      value: String(one),
                      title: t("Version {number}", { number: String(one) })
                    }))} />
                )}
              </div>
            )}
      </Show>
    </Section>
  );
}

interface Preview {
  id: string;
  author: string;
  created: string;
  expires: string;
}

function Previews({ name }: { name: string }) {
  const place = usePlace();
  const list = useLoad(
    async () =>
      (await request(`GET ${path}/preview`, given(place, { kind: "definition", name }))).body.data as Preview[],
    [place.app.id, place.environment, name]
  );
  const [token, setToken] = useState("");
  const open = async () => {
    const made = await request(`POST ${path}/preview`, {
      ...given(place, { kind: "definition", name }),
      body: { hours: 24 }
    });
    setToken(made.body.preview);
    list.reload();
  };
  const revoke = async (preview: Preview) => {
    await request(`DELETE ${path}/preview/{id}`, given(place, { kind: "definition", name, id: preview.id }));
    say(t("Revoked"));
    list.reload();
  };
  return (
    <Section
      title={t("On a test device")}
      note={t("A preview shows the saved draft to an app that has its token, for a day.")}
      actions={<Button onPress={open}>{t("Open a preview")}</Button>}>
      {token && (
        <>
          <Notice tone="warning">{t("It is shown only once.")}</Notice>
          <span className="secret">
            <code className="break">{token}</code>
            <Copy text={token} />
          </span>
        </>
      )}
      <Show from={list} lines={1}>
        {(rows) => (
          <Table
            label={t("Open previews")}
            rows={rows}
            id={(one) => one.id}
            empty={<p className="faint">{t("No preview is open.")}</p>}
            columns={[
              {
                name: "created",
                title: t("Opened"),
                cell: (one) => <span title={time(one.created)}>{ago(one.created)}</span>
              },
              { name: "expires", title: t("Ends"), width: "200px", isExtra: true, cell: (one) => time(one.expires) },
              {
                name: "act",
                title: "",
                width: "120px",
                cell: (one) => <Button isSmall onPress={() => revoke(one)}>{t("Revoke")}</Button>
              }
            ]} />
        )}
      </Show>
    </Section>
  );
}
