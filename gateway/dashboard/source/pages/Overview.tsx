// What an app is doing.

import { ReactNode } from "react";
import { Problem } from "../api/problem";
import { call, request } from "../api/client";
import { may } from "../api/session";
import { callIn, given, Place, usePlace } from "../shell/place";
import { Link, PageHead, Section } from "../system/basics";
import { LineChart } from "../system/charts";
import { lazy } from "../system/lazy";
import { useInterval, useLoad } from "../system/load";
import { bytes, compact, percent, plural, shortDay, t } from "../text";
import { Checklist } from "./FirstSteps";
import type { PushCounts } from "./Pushes";

const Pushes = lazy(async () => (await import("./Pushes")).Pushes);
const SavedAnswers = lazy(async () => (await import("./SavedAnswers")).SavedAnswers);

/** The date (UTC) `count` days ago. */
export function daysAgo(count: number): string {
  return new Date(Date.now() - count * 86_400_000).toISOString().slice(0, 10);
}

/** Undefined if the caller has no right to the data or the service fails, so that the rest of the page still shows. */
export function orNothing<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error) => {
    if (error instanceof Problem && error.status !== 401) return undefined;
    throw error;
  });
}

export function OverviewPage() {
  const place = usePlace();
  const { data: pushes, reload } = useLoad(
    async (): Promise<PushCounts[] | undefined> =>
      place.may("notifications", "read") ?
        (await orNothing(
          callIn(place, "GET /admin/apps/{app}/notifications/messages/counts", {
            query: { interval: "day", steps: 30 }
          })
        ))?.data :
        undefined,
    [place.app.id, place.environment]
  );
  // Seldom, because the server counts every message of the month.
  useInterval(reload, 300);
  return (
    <div className="page" key={place.environment}>
      <PageHead
        title={place.app.name}
        note={place.environment === "test" ?
          t("Test environment: its data are separate from the live data.") :
          undefined} />
      <Tiles place={place} pushes={pushes} />
      <Checklist place={place} />
      <div className="columns">
        {place.may("analytics", "read") && <Activity place={place} />}
        {pushes?.some((day) => day.messages) && <Pushes days={pushes} />}
      </div>
      {place.may("analytics", "read") && <SavedAnswers />}
    </div>
  );
}

function Tiles({ place, pushes }: { place: Place; pushes: PushCounts[] | undefined }) {
  const numbers = useLoad(() => readNumbers(place), [place.app.id, place.environment, place.may]);
  useInterval(numbers.reload, 30);
  const { people, live, crashes, monthsCrashes, releases, tickets } = numbers.data ?? {};
  const crashFree = (releases?.body?.data as { crashFreeSessions?: number | null }[] | undefined)?.find((one) =>
    typeof one.crashFreeSessions === "number"
  );
  const open = tickets?.columns?.filter((column) => column.status !== "complete").reduce(
    (sum, column) => sum + (column.count ?? 0),
    0
  );
  const lastMonth = people?.total?.active;
  const today = people?.data?.[people.data.length - 1]?.active;
  const sumOf = (counts: typeof crashes) => counts?.data?.reduce((sum, step) => sum + (step.events ?? 0), 0);
  return (
    <div className="tiles">
      {place.may("analytics", "read") && (
        <>
          <Tile
            to={place.to("analytics", { question: "people" })}
            label={t("People today")}
            value={today}
            more={lastMonth !== undefined && t("{n} in 30 days", { n: lastMonth })} />
          <Tile
            to={place.to("analytics", { question: "live" })}
            label={t("Events, 30 minutes")}
            value={live?.events}
            more={live && plural(live.people ?? 0, "{n} person", "{n} people")} />
        </>
      )}
      {place.may("crashes", "read") && (
        <>
          <Tile
            to={place.to("crashes")}
            label={t("Crashes, 24 hours")}
            value={sumOf(crashes)}
            more={monthsCrashes && t("{n} in 30 days", { n: sumOf(monthsCrashes) ?? 0 })} />
          <Tile
            to={place.to("crashes", { tab: "releases" })}
            label={t("Crash-free sessions")}
            text={crashFree ? percent((crashFree.crashFreeSessions ?? 0) / 100, 2) : "–"}
            more={crashFree ? t("Newest release, 30 days") : t("No sessions reported")} />
        </>
      )}
      {place.may("tickets", "read") && (
        <Tile to={place.to("tickets")} label={t("Open tickets")} value={open} more={t("Go to the board")} />
      )}
      {place.may("notifications", "read") && (
        <Tile
          to={place.to("push")}
          label={t("Pushes today")}
          value={pushes?.[pushes.length - 1]?.accepted}
          more={pushes && t("{n} in 30 days", { n: pushes.reduce((sum, day) => sum + (day.accepted ?? 0), 0) })} />
      )}
      {may("status", "read") && <RequestTile />}
      {may("status", "read") && <ServerTile />}
    </div>
  );
}

async function readNumbers(place: Place) {
  const has = (area: "analytics" | "crashes" | "tickets") => place.may(area, "read");
  const skip = Promise.resolve(undefined);
  const crashCounts = (interval: "hour" | "day", steps: number) =>
    orNothing(callIn(place, "GET /admin/apps/{app}/crashes/counts", { query: { interval, steps } }));
  const [people, live, crashes, monthsCrashes, releases, tickets] = await Promise.all([
    has("analytics") ?
      orNothing(
        callIn(place, "GET /admin/apps/{app}/analytics/people", {
          query: { from: daysAgo(29), to: daysAgo(0), interval: "day" }
        })
      ) as Promise<PeopleAnswer | undefined> :
      skip,
    has("analytics") ?
      orNothing(callIn(place, "GET /admin/apps/{app}/analytics/live")) as Promise<LiveAnswer | undefined> :
      skip,
    has("crashes") ? crashCounts("hour", 24) : skip,
    has("crashes") ? crashCounts("day", 30) : skip,
    has("crashes") ?
      orNothing(request("GET /admin/apps/{app}/crashes/releases", { ...given(place), query: { days: 30, limit: 5 } })) :
      skip,
    has("tickets") ? orNothing(callIn(place, "GET /admin/apps/{app}/tickets/board", { query: { limit: 1 } })) : skip
  ]);
  return { people, live, crashes, monthsCrashes, releases, tickets };
}

/** Requests to the whole server; the gateway counts them by service, not by app. */
function RequestTile() {
  const read = async (days: number, interval: "hour" | "day") => {
    const query = { from: new Date(Date.now() - days * 86_400_000).toISOString(), interval };
    return (await orNothing(call("GET /admin/requests", { query })))?.data;
  };
  const { data: rows, reload } = useLoad(() => read(1, "hour"), []);
  const { data: month } = useLoad(() => read(30, "day"), []);
  useInterval(reload, 60);
  const sum = (all: typeof rows, wanted?: number) =>
    all?.filter((row) => wanted === undefined || row.statusClass === wanted)
      .reduce((total, row) => total + (row.count ?? 0), 0);
  const more = [
    rows && t("{n} failed (5xx)", { n: sum(rows, 5) ?? 0 }),
    month && t("{n} in 30 days", { n: sum(month) ?? 0 })
  ];
  return (
    <Tile
      to="/status"
      label={t("Requests, 24 hours")}
      value={sum(rows)}
      more={more.filter(Boolean).join(" · ")} />
  );
}

/** By itself, because the server waits for those of its services that do not answer. */
function ServerTile() {
  const { data: health, reload } = useLoad(() => orNothing(call("GET /admin/health", {})), []);
  useInterval(reload, 30);
  const away = health && health.services.filter((one) => !one.isReady).length + (health.database ? 0 : 1);
  return (
    <Tile
      to="/status"
      label={t("Server")}
      text={away === undefined ? undefined : away === 0 ? t("Fine") : t("Not ready")}
      more={away ?
        plural(away, "{n} part does not work", "{n} parts do not work") :
        health?.database?.sizeInBytes ? bytes(health.database.sizeInBytes) : undefined} />
  );
}

interface PeopleAnswer {
  total?: { active?: number; new?: number };
  data: { interval?: string; active?: number; new?: number }[];
}

interface LiveAnswer {
  events?: number;
  people?: number;
}

function Tile(
  { to, label, value, text, more }: { to: string; label: string; value?: number; text?: string; more?: ReactNode }
) {
  return (
    <Link to={to} className="tile">
      <span className="label">{label}</span>
      <span className="value">{text ?? (value === undefined ? "–" : compact(value))}</span>
      <span className="more">{more}</span>
    </Link>
  );
}

function Activity({ place }: { place: Place }) {
  const people = useLoad(
    () =>
      orNothing(
        callIn(place, "GET /admin/apps/{app}/analytics/people", {
          query: { from: daysAgo(29), to: daysAgo(0), interval: "day" }
        })
      ) as Promise<PeopleAnswer | undefined>,
    [place.app.id, place.environment]
  );
  if (!people.data || people.data.data.every((one) => !one.active)) return null;
  const rows = people.data.data;
  return (
    <Section
      title={t("People, last 30 days")}
      actions={<Link to={place.to("analytics")}>{t("More in Analytics")}</Link>}>
      <LineChart
        label={t("People, last 30 days")}
        points={rows.map((row) => shortDay(row.interval ?? ""))}
        series={[
          { name: t("Active"), values: rows.map((row) => row.active ?? 0) },
          { name: t("New"), values: rows.map((row) => row.new ?? 0) }
        ]} />
    </Section>
  );
}
