// Health of the services and the database, requests at the gateway by service, the history, statements, and backups.

import { call } from "../api/client";
import { Badge, Empty, PageHead, Section, Segmented, Show } from "../system/basics";
import { LineChart } from "../system/charts";
import { lazy } from "../system/lazy";
import { useInterval, useLoad } from "../system/load";
import { Table } from "../system/table";
import { setQuery, useAddress } from "../system/router";
import { locale, number, percent, t } from "../text";
import { AppBackups, Backups, Parts } from "./Health";

const StatusHistory = lazy(async () => (await import("./StatusHistory")).StatusHistory);
const BackupRuns = lazy(async () => (await import("./BackupRuns")).BackupRuns);
const Database = lazy(async () => (await import("./Database")).Database);

interface Row {
  interval?: string;
  service?: string;
  statusClass?: number;
  count?: number;
  averageMicroseconds?: number | null;
}

const time = { hour: "2-digit", minute: "2-digit" } as const;
const date = { day: "numeric", month: "short" } as const;
const spans = {
  hour: { seconds: 3600, interval: "minute", title: "Hour", clock: time },
  day: { seconds: 86_400, interval: "hour", title: "Day", clock: time },
  week: { seconds: 7 * 86_400, interval: "hour", title: "Week", clock: { weekday: "short", hour: "2-digit" } },
  month: { seconds: 30 * 86_400, interval: "day", title: "Month", clock: date },
  year: { seconds: 365 * 86_400, interval: "day", title: "Year", clock: date }
} as const;
type Span = keyof typeof spans;
const names = Object.keys(spans) as Span[];

export function StatusPage() {
  const { query } = useAddress();
  const span = names.find((one) => one === query.get("span")) ?? "day";
  const clock = new Intl.DateTimeFormat(locale, spans[span].clock);
  const requests = useLoad(async () => {
    const { seconds, interval } = spans[span];
    const from = new Date(Date.now() - seconds * 1000).toISOString();
    return (await call("GET /admin/requests", { query: { from, interval } })) as { data: Row[] };
  }, [span]);
  const health = useLoad(() => call("GET /admin/health", {}), []);
  useInterval(requests.reload, 15);
  useInterval(health.reload, 15);
  // Two services answer; a member without the right is told so once.
  const isAnswered = health.data !== undefined || requests.data !== undefined;
  return (
    <div className="page">
      <PageHead title={t("Status")}>
        <Segmented
          label={t("Period")}
          value={span}
          choose={(next) => setQuery({ span: next })}
          options={names.map((name) => ({ name, title: t(spans[name].title) }))} />
      </PageHead>
      {isAnswered && <Show from={health}>{(found) => <Parts health={found} />}</Show>}
      <Show from={requests}>{(found) => <Requests rows={found.data} clock={clock} />}</Show>
      {isAnswered && <StatusHistory seconds={spans[span].seconds} clock={clock} />}
      {isAnswered && <Database seconds={spans[span].seconds} />}
      {health.data && <Backups backup={health.data.backup} />}
      {health.data?.backup?.runs && <BackupRuns runs={health.data.backup.runs} />}
      {health.data?.appBackups && <AppBackups apps={health.data.appBackups} />}
    </div>
  );
}

function Requests({ rows, clock }: { rows: Row[]; clock: Intl.DateTimeFormat }) {
  if (rows.length === 0) return <Empty icon="status" title={t("No requests in this period")} />;
  const points = [...new Set(rows.map((row) => row.interval ?? ""))].sort();
  const sum = (wanted: (row: Row) => boolean) =>
    rows.filter(wanted).reduce((total, row) => total + (row.count ?? 0), 0);
  const at = (wanted: (row: Row) => boolean) =>
    points.map((point) => sum((row) => row.interval === point && wanted(row)));
  const services = [...new Set(rows.map((row) => row.service ?? ""))].sort().map((service) => {
    const mine = (row: Row) => row.service === service;
    const count = sum(mine);
    const time = rows.filter(mine).reduce((total, row) => total + (row.count ?? 0) * (row.averageMicroseconds ?? 0), 0);
    const [failed, refused] = [
      sum((row) => mine(row) && row.statusClass === 5),
      sum((row) => mine(row) && row.statusClass === 4)
    ];
    return { service, count, failed, refused, milliseconds: count > 0 ? time / count / 1000 : 0 };
  });
  return (
    <>
      <Section title={t("Requests")}>
        <LineChart
          label={t("Requests")}
          points={points.map((point) => clock.format(new Date(point)))}
          series={[
            { name: t("Answered"), values: at((row) => (row.statusClass ?? 0) < 4) },
            { name: t("Refused (4xx)"), values: at((row) => row.statusClass === 4) },
            { name: t("Failed (5xx)"), values: at((row) => row.statusClass === 5) }
          ]} />
      </Section>
      <Section title={t("By service")} note={t("“none” are requests that the gateway answered itself.")}>
        <Table
          label={t("By service")}
          rows={services}
          id={(one) => one.service}
          columns={[
            { name: "service", title: t("Service"), cell: (one) => one.service },
            {
              name: "state",
              title: t("State"),
              width: "140px",
              cell: (one) =>
                one.failed > 0 ? <Badge tone="bad">{t("Errors")}</Badge> : <Badge tone="good">{t("Fine")}</Badge>
            },
            {
              name: "count",
              title: t("Requests"),
              isNumber: true,
              width: "120px",
              cell: (one) => number(one.count)
            },
            {
              name: "refused",
              title: t("Refused (4xx)"),
              isNumber: true,
              width: "130px",
              isExtra: true,
              cell: (one) => number(one.refused)
            },
            {
              name: "failed",
              title: t("Failed (5xx)"),
              isNumber: true,
              width: "130px",
              cell: (one) => `${number(one.failed)} · ${percent(one.count ? one.failed / one.count : 0)}`
            },
            {
              name: "time",
              title: t("On average"),
              isNumber: true,
              width: "130px",
              isExtra: true,
              cell: (one) => `${number(Math.round(one.milliseconds * 10) / 10)} ms`
            }
          ]} />
      </Section>
    </>
  );
}
