// Imports a file into a collection: first a preview, then a check of every row by the server, then the import itself.

import { useState } from "react";
import type { Job } from "../../generated/api";
import { request } from "../api/client";
import { given, Place, usePlace } from "../shell/place";
import { Button, Notice } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Check, Choice, Form } from "../system/form";
import { say } from "../system/toast";
import { bytes, number, t } from "../text";
import { ImportReport, isOpen, Outcome, Progress } from "./Jobs";

type Format = "json" | "jsonl" | "csv";
const previewInBytes = 64_000;
const previewRows = 5;

export function ImportDialog({ collection, close, done }: { collection: string; close: () => void; done: () => void }) {
  const place = usePlace();
  const [file, setFile] = useState<File | null>(null);
  const [sample, setSample] = useState<string[][]>([]);
  const [existing, setExisting] = useState<"refuse" | "skip" | "replace">("refuse");
  const [skipBad, setSkipBad] = useState(false);
  const [job, setJob] = useState<Job | null>(null);
  const report = job?.result as ImportReport | null | undefined;
  const isChecked = job?.state === "done" && report?.dryRun === true;
  const isStored = job?.state === "done" && report?.applied === true;
  const take = async (chosen: File | undefined) => {
    setFile(chosen ?? null);
    setJob(null);
    const text = chosen ? await chosen.slice(0, previewInBytes).text() : "";
    setSample(chosen ? preview(text, formatOf(chosen.name), chosen.size <= previewInBytes) : []);
  };
  const run = async (dryRun: boolean) => {
    if (!file) return;
    const finished = await importFile(place, collection, file, { dryRun, skipBad, existing }, setJob);
    if (finished.state === "done" && !dryRun) {
      say(t("Imported"));
      done();
    }
  };
  const canImport = isChecked && ((report?.bad ?? 0) === 0 || skipBad);
  return (
    <Dialog title={t("Import into {name}", { name: collection })} close={close} isWide>
      <Form
        send={() => run(!canImport)}
        action={canImport ? t("Import") : t("Check the file")}
        cancel={close}
        isDisabled={!file || (job !== null && isOpen(job)) || isStored}>
        <label className="field">
          <span className="strong">{t("File")}</span>
          <input
            type="file"
            accept=".json,.jsonl,.ndjson,.csv"
            aria-label={t("File")}
            onChange={(event) => void take(event.currentTarget.files?.[0])} />
          <span className="hint">{t("JSON, JSON lines or CSV. A field _id gives objects their ids.")}</span>
        </label>
        {file && <Sample rows={sample} size={file.size} />}
        <Choice
          label={t("Rows whose id exists")}
          value={existing}
          change={(next) => {
            setExisting(next);
            setJob(null);
          }}
          options={[
            { value: "refuse", title: t("count as an error") },
            { value: "skip", title: t("are skipped") },
            { value: "replace", title: t("replace the object") }
          ]} />
        <Check label={t("Import the valid rows even if others have errors")} value={skipBad} change={setSkipBad} />
        {job && isOpen(job) && <Progress job={job} />}
        {job && !isOpen(job) && <Outcome job={job} />}
        {isChecked && (report?.bad ?? 0) === 0 && <Notice tone="good">{t("Every row can be imported.")}</Notice>}
      </Form>
      {isStored && (
        <footer>
          <Button kind="primary" onPress={close}>{t("Done")}</Button>
        </footer>
      )}
    </Dialog>
  );
}

async function importFile(
  place: Place,
  collection: string,
  file: File,
  options: { dryRun: boolean; skipBad: boolean; existing: string },
  show: (job: Job) => void
): Promise<Job> {
  const query = { format: formatOf(file.name), ...options };
  // Without a content type, so that only the parameter determines the format.
  const body = new Blob([file], { type: "application/octet-stream" });
  const started = await request("POST /admin/apps/{app}/imports/{collection}", {
    ...given(place, { collection }),
    query,
    body
  });
  let job = started.body as Job;
  show(job);
  while (isOpen(job)) {
    await new Promise((resolve) => setTimeout(resolve, 600));
    job = (await request("GET /admin/apps/{app}/jobs/{id}", given(place, { id: job.id }))).body;
    show(job);
  }
  return job;
}

function formatOf(name: string): Format {
  if (/\.csv$/i.test(name)) return "csv";
  return /\.(jsonl|ndjson)$/i.test(name) ? "jsonl" : "json";
}

function Sample({ rows, size }: { rows: string[][]; size: number }) {
  const [head, ...body] = rows;
  if (!head) {
    return <Notice>{t("No preview: the file is large, or not what its name says. Check it to learn more.")}</Notice>;
  }
  return (
    <div className="stack">
      <p className="faint">{t("The first {n} rows", { n: body.length })} · {bytes(size)}</p>
      <div className="table">
        <table aria-label={t("Preview")}>
          <thead>
            <tr>{head.map((name, index) => <th key={index} scope="col">{name}</th>)}</tr>
          </thead>
          <tbody>
            {body.map((row, line) => <tr key={line}>{row.map((cell, index) => <td key={index}>{cell}</td>)}</tr>)}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** Heads and first rows as the file has them; empty if it cannot be read that far. */
export function preview(text: string, format: Format, isWhole: boolean): string[][] {
  try {
    if (format === "csv") return readCSV(text).slice(0, previewRows + 1);
    const lines = format === "jsonl" ? text.split("\n").filter((line) => line.trim()) : [];
    const records = format === "jsonl" ?
      lines.slice(0, previewRows).map((line) => JSON.parse(line)) :
      isWhole ?
      JSON.parse(text) :
      [];
    const shown = (Array.isArray(records) ? records : [records]).slice(0, previewRows) as Record<string, unknown>[];
    const heads = [...new Set(shown.flatMap((record) => Object.keys(record)))].slice(0, 12);
    if (heads.length === 0) return [];
    return [heads, ...shown.map((record) => heads.map((name) => shownValue(record[name])))];
  } catch {
    return [];
  }
}

function shownValue(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "number") return number(value);
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 80);
}

/** Cells of CSV (RFC 4180); the delimiter is the one that the first line has most of. */
function readCSV(text: string): string[][] {
  const first = text.split("\n", 1)[0] ?? "";
  const delimiter = [",", ";", "\t"].sort((a, b) => first.split(b).length - first.split(a).length)[0] ?? ",";
  const rows: string[][] = [];
  for (const line of text.split(/\r?\n/).slice(0, previewRows + 1)) {
    if (!line.trim()) continue;
    const cells = line.match(new RegExp(`("(?:[^"]|"")*"|[^${delimiter}]*)(?:${delimiter}|$)`, "g")) ?? [];
    rows.push(
      cells.slice(0, 12).map((cell) => cell.replace(new RegExp(delimiter + "$"), ""))
        .map((cell) => cell.startsWith('"') ? cell.slice(1, -1).replace(/""/g, '"') : cell)
    );
  }
  // The pattern also matches the empty end of a line.
  const width = rows[0] ? Math.max(1, rows[0].length - (rows[0][rows[0].length - 1] === "" ? 1 : 0)) : 0;
  return rows.map((row) => row.slice(0, width));
}
