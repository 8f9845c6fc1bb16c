// The parts of the server and its backups, as GET /admin/health tells them.

import type { ServerHealth } from "../../generated/api";
import { Badge, Empty, Section, Tone } from "../system/basics";
import { Table } from "../system/table";
import { ago, bytes, number, t, Text, time } from "../text";

export function Parts({ health }: { health: ServerHealth }) {
  const { database } = health;
  return (
    <Section
      title={t("Health")}
      note={database ?
        t("PostgreSQL {version}: {size}, {used} of {most} connections, answers in {time} ms", {
          version: database.version,
          size: database.sizeInBytes === undefined ? "…" : bytes(database.sizeInBytes),
          used: database.connections,
          most: database.maximumConnections,
          time: database.milliseconds
        }) :
        <Badge tone="bad">{t("The database does not answer")}</Badge>}>
      <Table
        label={t("Health")}
        rows={health.services}
        id={(one) => one.name}
        columns={[
          { name: "name", title: t("Service"), cell: (one) => one.name },
          {
            name: "state",
            title: t("State"),
            width: "140px",
            cell: (one) =>
              one.isReady ? <Badge tone="good">{t("Ready")}</Badge> : <Badge tone="bad">{t("Not ready")}</Badge>
          },
          {
            name: "version",
            title: t("Version"),
            width: "120px",
            isExtra: true,
            cell: (one) => <code>{one.version}</code>
          },
          {
            name: "time",
            title: t("Answered in"),
            isNumber: true,
            width: "130px",
            isExtra: true,
            cell: (one) => one.milliseconds !== undefined && `${number(one.milliseconds)} ms`
          },
          {
            name: "jobs",
            title: t("Waiting jobs"),
            isNumber: true,
            width: "140px",
            cell: (one) => one.waitingJobs !== undefined && number(one.waitingJobs)
          }
        ]} />
    </Section>
  );
}

const kinds: Record<"full" | "diff" | "incr", Text> = {
  full: "Everything",
  diff: "Since the last complete one",
  incr: "Since the last one"
};

export function Backups({ backup }: { backup: ServerHealth["backup"] }) {
  return (
    <Section title={t("Backup")} note={backup && <Proof proof={backup.proof} />}>
      {backup ?
        (
          <Table
            label={t("Backup")}
            rows={backup.backups}
            id={(one) => one.time}
            empty={
              <Empty icon="clock" title={t("No backup yet")}>
                {t("There were runs, but none has made a complete backup.")}
              </Empty>
            }
            columns={[
              {
                name: "time",
                title: t("When"),
                width: "190px",
                cell: (one) => <span title={time(one.time)}>{ago(one.time)}</span>
              },
              { name: "type", title: t("What"), cell: (one) => t(kinds[one.type]) },
              {
                name: "size",
                title: t("Size"),
                isNumber: true,
                width: "120px",
                cell: (one) => bytes(one.sizeInBytes)
              },
              { name: "id", title: "ID", width: "190px", isExtra: true, cell: (one) => <code>{one.id}</code> }
            ]} />
        ) :
        (
          <Empty icon="clock" title={t("Not set up")}>
            {t("martlet backup has made no backup on this machine. OPERATIONS.md says how to back up.")}
          </Empty>
        )}
    </Section>
  );
}

function Proof({ proof }: { proof: NonNullable<ServerHealth["backup"]>["proof"] }) {
  if (!proof) return <>{t("No backup has been tested by restoring it: run martlet backup verify.")}</>;
  return (
    <>
      {t("Last tested by restoring it: {when}", { when: ago(proof.time) })} <Proved proof={proof} />
    </>
  );
}

function Proved({ proof }: { proof: { time: string; result: string } }) {
  return (
    <span title={time(proof.time)}>
      {proof.result === "good" ? <Badge tone="good">{t("Restores")}</Badge> :
        proof.result === "read" ? <Badge tone="warning">{t("Only read")}</Badge> :
        proof.result === "failed" ? <Badge tone="warning">{t("Could not be tested")}</Badge> :
        <Badge tone="bad">{t("Does not restore")}</Badge>}
    </span>
  );
}

const results: Record<"good" | "failed" | "cancelled", { title: Text; tone: Tone }> = {
  good: { title: "Fine", tone: "good" },
  failed: { title: "Failed", tone: "bad" },
  cancelled: { title: "Cancelled", tone: "neutral" }
};

/** How a run of a backup ended. */
export function RunResult({ result }: { result: keyof typeof results }) {
  return <Badge tone={results[result].tone}>{t(results[result].title)}</Badge>;
}

export function AppBackups({ apps }: { apps: NonNullable<ServerHealth["appBackups"]> }) {
  return (
    <Section title={t("Archives of apps")}>
      <Table
        label={t("Archives of apps")}
        rows={apps}
        id={(one) => one.app}
        columns={[
          { name: "app", title: t("App"), cell: (one) => <code>{one.app}</code> },
          {
            name: "time",
            title: t("Last archive"),
            width: "190px",
            cell: (one) => one.time && <span title={time(one.time)}>{ago(one.time)}</span>
          },
          {
            name: "run",
            title: t("Last run"),
            width: "200px",
            cell: (one) => (
              <span title={time(one.lastRun)}><RunResult result={one.lastResult} /> {ago(one.lastRun)}</span>
            )
          },
          {
            name: "proof",
            title: t("Tested by restoring it"),
            width: "210px",
            cell: (one) => one.proof && <Proved proof={one.proof} />
          },
          {
            name: "count",
            title: t("Archives"),
            isNumber: true,
            width: "100px",
            isExtra: true,
            cell: (one) => number(one.archives)
          },
          {
            name: "size",
            title: t("Size"),
            isNumber: true,
            width: "120px",
            isExtra: true,
            cell: (one) => one.sizeInBytes !== undefined && bytes(one.sizeInBytes)
          }
        ]} />
    </Section>
  );
}
