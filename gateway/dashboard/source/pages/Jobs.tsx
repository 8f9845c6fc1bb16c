// Imports, exports and other long work of an environment, with progress and outcome.

import { useState } from "react";
import type { Job } from "../../generated/api";
import { callIn, given, Place, usePlace } from "../shell/place";
import { download } from "../api/client";
import { Badge, Button, Empty, Notice, PageHead, Show, Tone } from "../system/basics";
import { Dialog } from "../system/dialog";
import { lazy } from "../system/lazy";
import { useInterval, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { ago, number, plural, t, Text } from "../text";

const TestEnvironmentDialog = lazy(async () => (await import("./TestEnvironment")).TestEnvironmentDialog);

const kinds: Record<Job["kind"], Text> = { import: "Import", export: "Export", copy: "Copy to test", index: "Index" };
const states: Record<Job["state"], { title: Text; tone: Tone }> = {
  waiting: { title: "Waiting", tone: "neutral" },
  running: { title: "Running", tone: "accent" },
  done: { title: "Finished", tone: "good" },
  failed: { title: "Failed", tone: "bad" },
  cancelled: { title: "Cancelled", tone: "neutral" }
};

/** What an import found, valid or not: the result of its job. */
export interface ImportReport {
  collection?: string;
  dryRun?: boolean;
  applied?: boolean;
  records?: number;
  good?: number;
  bad?: number;
  badRecords?: { line: number; reason: string; field?: string }[];
  columns?: { name: string; type: string; filled: number }[];
  created?: number;
  replaced?: number;
  skipped?: number;
}

export const isOpen = (job: Job) => job.state === "waiting" || job.state === "running";

export function JobsPage() {
  const place = usePlace();
  const list = usePages<Job>(async (before) => {
    const page = await callIn(place, "GET /admin/apps/{app}/jobs", { query: { before, limit: 50 } }) as unknown as {
      data: Job[];
    };
    return { data: page.data, next: page.data.length === 50 ? page.data[49]?.id : undefined };
  }, [place.app.id, place.environment]);
  useInterval(() => list.data?.some(isOpen) && list.refresh(), 2);
  const [isCopying, setCopying] = useState(false);
  const shownId = useAddress().query.get("job");
  const show = (id: string) => setQuery({ job: id });
  const shown = list.data?.find((job) => job.id === shownId);
  return (
    <div className="page">
      <PageHead title={t("Jobs")} note={t("Imports, exports, copies and indexes that take longer than a request.")}>
        {place.environment === "live" && place.may("storage", "update") && (
          <Button onPress={() => setCopying(true)}>{t("Test environment…")}</Button>
        )}
      </PageHead>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Jobs")}
            rows={rows}
            id={(job) => job.id}
            open={(job) => show(job.id)}
            hasMore={list.hasMore}
            more={list.more}
            empty={
              <Empty icon="clock" title={t("No jobs yet")}>
                {t("To import a file, use the menu of a collection on the page Storage.")}
              </Empty>
            }
            columns={[
              {
                name: "kind",
                title: t("Kind"),
                width: "170px",
                cell: (job) => (
                  <button type="button" className="link" onClick={() => show(job.id)}>{t(kinds[job.kind])}</button>
                )
              },
              {
                name: "collection",
                title: t("Collection"),
                cell: (job) => <span className="soft">{collectionOf(job)}</span>
              },
              {
                name: "state",
                title: t("State"),
                width: "130px",
                cell: (job) => <JobState job={job} />
              },
              { name: "progress", title: t("Progress"), width: "200px", cell: (job) => <Progress job={job} /> },
              {
                name: "begun",
                title: t("Begun"),
                width: "140px",
                isExtra: true,
                cell: (job) => <span className="soft">{ago(job.started ?? job.created)}</span>
              }
            ]} />
        )}
      </Show>
      {isCopying && <TestEnvironmentDialog close={() => setCopying(false)} changed={list.reload} />}
      {shown && <JobDialog job={shown} close={() => show("")} changed={list.reload} />}
    </div>
  );
}

const collectionOf = (job: Job) => (job.result as ImportReport | null)?.collection ?? "";

function JobState({ job }: { job: Job }) {
  return <Badge tone={states[job.state].tone}>{t(states[job.state].title)}</Badge>;
}

export function Progress({ job }: { job: Job }) {
  const { done = 0, total } = job.progress;
  if (!isOpen(job)) {
    const { records } = (job.result ?? {}) as ImportReport;
    return <span className="soft">{records === undefined ? "" : plural(records, "{n} row", "{n} rows")}</span>;
  }
  return (
    <span className="row nowrap">
      <progress value={total ? done : undefined} max={total ?? undefined} aria-label={t("Progress")} />
      <span className="soft">{number(done)}{total ? ` / ${number(total)}` : ""}</span>
    </span>
  );
}

function JobDialog({ job, close, changed }: { job: Job; close: () => void; changed: () => void }) {
  const place = usePlace();
  const cancel = async () => {
    await callIn(place, "DELETE /admin/apps/{app}/jobs/{id}", { path: { id: job.id } });
    changed();
  };
  return (
    <Dialog title={t(kinds[job.kind])} close={close} isWide>
      <div className="row">
        <JobState job={job} />
        <Progress job={job} />
      </div>
      <Outcome job={job} />
      <footer>
        {isOpen(job) && place.may("storage", "delete") && <Button onPress={cancel}>{t("Cancel the job")}</Button>}
        {job.kind === "export" && job.state === "done" && (
          <Button
            icon="download"
            onPress={() => downloadResult(place, job)}>
            {t("Download")}
          </Button>
        )}
      </footer>
    </Dialog>
  );
}

function downloadResult(place: Place, job: Job): Promise<void> {
  const { collection = "export", format = "json" } = (job.result ?? {}) as { collection?: string; format?: string };
  return download("GET /admin/apps/{app}/jobs/{id}/result", given(place, { id: job.id }), `${collection}.${format}`);
}

/** What a job did, and the rows that an import could not take. */
export function Outcome({ job }: { job: Job }) {
  const report = job.kind === "import" ? job.result as ImportReport | null : null;
  return (
    <div className="stack">
      {job.error && <Notice tone="bad">{String(job.error.detail ?? job.error.code)}</Notice>}
      {report && <Report report={report} />}
    </div>
  );
}

function Report({ report }: { report: ImportReport }) {
  const { records = 0, bad = 0, badRecords = [] } = report;
  return (
    <>
      <dl className="facts">
        <dt>{t("Rows in the file")}</dt>
        <dd>{number(records)}</dd>
        <dt>{t("Rows with an error")}</dt>
        <dd>{number(bad)}</dd>
        {report.applied && (
          <>
            <dt>{t("Stored")}</dt>
            <dd>
              {t("{created} new, {replaced} replaced, {skipped} skipped", {
                created: report.created ?? 0,
                replaced: report.replaced ?? 0,
                skipped: report.skipped ?? 0
              })}
            </dd>
          </>
        )}
        {report.columns && (
          <>
            <dt>{t("Columns")}</dt>
            <dd>{report.columns.map((column) => `${column.name}: ${column.type}`).join(", ")}</dd>
          </>
        )}
      </dl>
      {badRecords.length > 0 && (
        <Table
          label={t("Rows with an error")}
          rows={badRecords.map((row, index) => ({ ...row, index }))}
          id={(row) => row.index}
          columns={[
            { name: "line", title: t("Line"), width: "80px", isNumber: true, cell: (row) => number(row.line) },
            { name: "field", title: t("Field"), width: "150px", cell: (row) => row.field && <code>{row.field}</code> },
            { name: "reason", title: t("Reason"), cell: (row) => <span title={row.reason}>{row.reason}</span> }
          ]} />
      )}
    </>
  );
}
