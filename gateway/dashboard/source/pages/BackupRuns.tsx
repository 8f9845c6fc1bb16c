// The runs of `martlet backup`, also those that failed.

import type { ServerHealth } from "../../generated/api";
import { Empty, Section } from "../system/basics";
import { Table } from "../system/table";
import { ago, number, t, Text, time } from "../text";
import { RunResult } from "./Health";

type Run = NonNullable<NonNullable<ServerHealth["backup"]>["runs"]>[number];

const commands: Record<Run["command"], Text> = {
  now: "Database and files",
  files: "New files",
  verify: "Test by restoring it"
};

export function BackupRuns({ runs }: { runs: Run[] }) {
  return (
    <Section
      title={t("Runs of the backup")}
      note={runs.some((one) => one.result === "failed") &&
        t("The log of the system says why a run failed: journalctl -t martlet-backup")}>
      <Table
        label={t("Runs of the backup")}
        rows={runs}
        id={(one) => one.time + one.command}
        empty={
          <Empty icon="clock" title={t("No run yet")}>
            {t("Runs appear here when they have ended, also those that failed or were cancelled.")}
          </Empty>
        }
        columns={[
          {
            name: "time",
            title: t("Ended"),
            width: "190px",
            cell: (one) => <span title={time(one.time)}>{ago(one.time)}</span>
          },
          { name: "command", title: t("What"), cell: (one) => t(commands[one.command]) },
          {
            name: "seconds",
            title: t("Took"),
            isNumber: true,
            width: "120px",
            cell: (one) => lasting(one.seconds)
          },
          {
            name: "result",
            title: t("Result"),
            width: "160px",
            cell: (one) => <RunResult result={one.result} />
          }
        ]} />
    </Section>
  );
}

function lasting(seconds: number): string {
  if (seconds < 60) return `${number(Math.round(seconds))} s`;
  return seconds < 3600 ? `${number(Math.round(seconds / 60))} min` : `${number(Math.round(seconds / 360) / 10)} h`;
}
