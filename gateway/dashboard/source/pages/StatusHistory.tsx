// CPU, memory, disk, network, database and jobs over time, as GET /admin/status tells them.

import { useState } from "react";
import { call } from "../api/client";
import { Empty, Section, Segmented, Show } from "../system/basics";
import { LineChart, Series } from "../system/charts";
import { useInterval, useLoad } from "../system/load";
import { t, Text } from "../text";

interface Chart {
  title: Text;
  /** What the values are divided by. */
  unit?: number;
  /** Names of series, with the names of their lines. */
  lines: Record<string, string>;
}

const services = ["auth", "storage", "config", "analytics", "notifications"];

/** A line for each process or service, by its own name. */
function each(names: string[], series: (name: string) => string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [series(name), name]));
}

function charts(): Chart[] {
  const processes = [...services, "gateway"];
  const sizes = (name: string) => ({ [`${name}.used`]: t("In use"), [`${name}.size`]: t("Size") });
  const one = (title: Text, name: string, unit?: number): Chart => ({ title, unit, lines: { [name]: t(title) } });
  return [
    {
      title: "CPU, % of all cores",
      lines: {
        "host.cpu.user": t("Programs"),
        "host.cpu.system": t("System"),
        "host.cpu.waiting": t("Waits for a disk")
      }
    },
    { title: "Memory, GB", unit: 1e9, lines: sizes("host.memory") },
    { title: "Disk, GB", unit: 1e9, lines: sizes("host.disk") },
    {
      title: "Traffic of disks, MB per second",
      unit: 1e6,
      lines: { "host.disk.read": t("Reads"), "host.disk.written": t("Writes") }
    },
    {
      title: "Network, KB per second",
      unit: 1e3,
      lines: { "host.network.received": t("Received"), "host.network.sent": t("Sent") }
    },
    { title: "CPU of a process, % of a core", lines: each(processes, (name) => `processes.${name}.cpu`) },
    { title: "Memory of a process, MB", unit: 1e6, lines: each(processes, (name) => `processes.${name}.memory`) },
    { title: "Open files and connections", lines: each(processes, (name) => `processes.${name}.files`) },
    { title: "Slow statements per minute (over 1 s)", lines: each(services, (name) => `processes.${name}.slow`) },
    one("Database, MB", "database.size", 1e6),
    one("Connections to the database", "database.connections"),
    one("Answer of the database, ms", "database.milliseconds"),
    {
      title: "Transactions per second",
      lines: { "database.transactions": t("Committed"), "database.rollbacks": t("Rolled back") }
    },
    one("Oldest transaction, seconds", "database.oldest"),
    one("Sessions that wait for a lock", "database.locked"),
    one("Dead rows, %", "database.dead"),
    {
      title: "Waiting jobs",
      lines: each([...services.filter((name) => name != "config"), "push", "mail"], (name) => `jobs.${name}`)
    }
  ];
}

export function StatusHistory({ seconds, clock }: { seconds: number; clock: Intl.DateTimeFormat }) {
  const [shown, show] = useState<"averages" | "maxima">("averages");
  const history = useLoad(async () => {
    const from = new Date(Date.now() - seconds * 1000).toISOString();
    const groups = ["host", "processes", "database", "jobs"];
    return Promise.all(groups.map((group) => call("GET /admin/status", { query: { group, from } })));
  }, [seconds]);
  useInterval(history.reload, 60);
  return (
    <Section
      title={t("History")}
      note={t("With several copies or machines: the average or the highest of all.")}
      actions={
        <Segmented
          label={t("Values")}
          value={shown}
          choose={show}
          options={[{ name: "averages", title: t("Average") }, { name: "maxima", title: t("Highest") }]} />
      }>
      <Show from={history}>
        {(groups) => {
          const [first] = groups;
          const found = new Map(groups.flatMap((group) => group.series).map((one) => [one.name, one[shown]]));
          if (!first || found.size === 0) {
            return (
              <Empty icon="clock" title={t("No history yet")}>{t("Each process reports once a minute.")}</Empty>
            );
          }
          const start = new Date(first.from).getTime();
          const length = Math.max(0, ...[...found.values()].map((values) => values.length));
          const points = Array.from(
            { length },
            (_, index) => clock.format(new Date(start + index * first.intervalInSeconds * 1000))
          );
          return (
            <div className="columns">
              {charts().map(({ title, unit = 1, lines }) => {
                const series = Object.entries(lines).flatMap(([name, line]): Series[] => {
                  const values = found.get(name);
                  if (!values) return [];
                  return [{ name: line, values: values.map((value) => value === null ? null : value / unit) }];
                });
                return series.length > 0 && (
                  <div key={title}>
                    <h3>{t(title)}</h3>
                    <LineChart label={t(title)} points={points} series={series} tall={140} />
                  </div>
                );
              })}
            </div>
          );
        }}
      </Show>
    </Section>
  );
}
