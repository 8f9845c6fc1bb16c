// Debug symbols: the files that are there, and those that reports wait for.

import { useState } from "react";
import type { DebugFile } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Copy, Empty, Menu, Section, Show, Tone } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { useLoad, usePages } from "../system/load";
import { Table } from "../system/table";
import { SymbolUpload } from "./SymbolUpload";
import { ago, bytes, number, t, Text, time } from "../text";

const states: Record<NonNullable<DebugFile["state"]>, { title: Text; tone: Tone }> = {
  created: { title: "Waiting", tone: "accent" },
  assembling: { title: "Being read", tone: "accent" },
  ok: { title: "Ready", tone: "good" },
  error: { title: "Failed", tone: "bad" }
};

export function Symbols() {
  const place = usePlace();
  const [uploads, setUploads] = useState(0);
  return (
    <div className="stack-large">
      <Missing on={uploads} />
      <Files on={uploads} />
      {place.may("crashes", "create") && (
        <Section
          title={t("Upload")}
          note={t("Files with debug information: the DWARF files of Apple's .dSYM folders, ELF files, source bundles.")}>
          <SymbolUpload done={() => setUploads((count) => count + 1)} />
        </Section>
      )}
      <Section
        title={t("Upload from a build")}
        note={t("sentry-cli uploads files from your build, with a master key of the app as its token:")}>
        <span className="secret">
          <code>{command(place.app.number)}</code>
          <Copy text={command(place.app.number)} />
        </span>
      </Section>
    </div>
  );
}

const command = (app: number) =>
  `sentry-cli --url ${location.origin}/ debug-files upload --wait -o any -p ${app} build/MyApp.xcarchive/dSYMs`;

function Missing({ on }: { on: number }) {
  const place = usePlace();
  const list = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/crashes/symbols/missing", { query: { limit: 100 } }),
    [place.app.id, place.environment, on]
  );
  return (
    <Section title={t("Missing")} note={t("Reports wait for these symbols, which were not uploaded:")}>
      <Show from={list} lines={2}>
        {(found) => (
          <Table
            label={t("Missing")}
            rows={found.data ?? []}
            id={(one) => one.debugId ?? ""}
            empty={<p className="faint">{t("No report waits for symbols.")}</p>}
            columns={[
              {
                name: "id",
                title: t("Debug id"),
                cell: (one) => (
                  <span className="row nowrap">
                    <code>{one.debugId}</code> <Copy text={one.debugId ?? ""} />
                  </span>
                )
              },
              {
                name: "reports",
                title: t("Reports"),
                width: "120px",
                isNumber: true,
                cell: (one) => number(one.reports ?? 0)
              }
            ]} />
        )}
      </Show>
    </Section>
  );
}

function Files({ on }: { on: number }) {
  const place = usePlace();
  const list = usePages<DebugFile>(
    (after) => callIn(place, "GET /admin/apps/{app}/crashes/symbols", { query: { after, limit: 50 } }),
    [place.app.id, place.environment, on]
  );
  const [dialog, ask] = useConfirm();
  const remove = (file: DebugFile) =>
    ask({
      title: t("Delete {name}?", { name: file.name ?? "" }),
      action: t("Delete"),
      text: t("New reports of this build show addresses in place of names."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/crashes/symbols/{file}", { path: { file: file.id ?? "" } });
        list.reload();
      }
    });
  return (
    <Section title={t("Files")}>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Files")}
            rows={rows}
            id={(file) => file.id ?? ""}
            hasMore={list.hasMore}
            more={list.more}
            empty={
              <Empty icon="file" title={t("No debug symbols yet")}>
                {t("With them, a crash shows functions and lines of source in place of addresses.")}
              </Empty>
            }
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (file) => (
                  <span className="two-lines">
                    <span className="strong">{file.name}</span>
                    <span className="faint">{file.parts?.map((one) => one.debugId).join(", ")}</span>
                  </span>
                )
              },
              {
                name: "parts",
                title: t("For"),
                width: "150px",
                isExtra: true,
                cell: (file) => [...new Set(file.parts?.map((one) => `${one.architecture} ${one.kind}`))].join(", ")
              },
              {
                name: "size",
                title: t("Size"),
                width: "100px",
                isNumber: true,
                isExtra: true,
                cell: (file) => bytes(file.sizeInBytes ?? 0)
              },
              {
                name: "state",
                title: t("State"),
                width: "120px",
                cell: (file) => {
                  const isBroken = file.parts?.some((one) => one.isBroken);
                  const state = states[isBroken ? "error" : file.state ?? "created"];
                  return (
                    <span title={file.detail ?? undefined}>
                      <Badge tone={state.tone}>{t(state.title)}</Badge>
                    </span>
                  );
                }
              },
              {
                name: "created",
                title: t("Uploaded"),
                width: "130px",
                isExtra: true,
                cell: (file) =>
                  file.created && <span className="soft" title={time(file.created)}>{ago(file.created)}</span>
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (file) => (
                  <Menu
                    label={t("More about {name}", { name: file.name ?? "" })}
                    items={[{
                      title: t("Delete"),
                      isDanger: true,
                      isHidden: !place.may("crashes", "delete"),
                      act: () => remove(file)
                    }]} />
                )
              }
            ]} />
        )}
      </Show>
      {dialog}
    </Section>
  );
}
