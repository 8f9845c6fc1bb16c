// What an app is doing, and for a new one what to do first.

import { ReactNode } from "react";
import { Problem } from "../api/problem";
import { request } from "../api/client";
import { callIn, given, Place, usePlace } from "../shell/place";
import { Button, Link, PageHead, Section } from "../system/basics";
import { LineChart } from "../system/charts";
import { Icon } from "../system/icons";
import { useInterval, useLoad } from "../system/load";
import { go } from "../system/router";
import { compact, percent, plural, shortDay, t } from "../text";

/** The date, UTC, so many days ago. */
export function daysAgo(count: number): string {
  return new Date(Date.now() - count * 86_400_000).toISOString().slice(0, 10);
}

/** Without a right, or a part of the server, the rest of the page remains. */
function orNothing<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error) => {
    if (error instanceof Problem && error.status !== 401) return undefined;
    throw error;
  });
}

export function OverviewPage() {
  const place = usePlace();
  return (
    <div className="page" key={place.environment}>
      <PageHead
        title={place.app.name}
        note={place.environment === "test" ?
          t("Test environment: its data are apart from the live ones.") :
          undefined} />
      <Tiles place={place} />
      <Checklist place={place} />
      {place.may("analytics", "read") && <Activity place={place} />}
    </div>
  );
}

function Tiles({ place }: { place: Place }) {
  const numbers = useLoad(() => readNumbers(place), [place.app.id, place.environment, place.may]);
  useInterval(numbers.reload, 30);
  const { people, live, crashes, releases, tickets, messages } = numbers.data ?? {};
  const crashFree = (releases?.body?.data as { crashFreeSessions?: number | null }[] | undefined)?.find((one) =>
    typeof one.crashFreeSessions === "number"
  );
  const open = tickets?.columns?.filter((column) => column.status !== "complete").reduce(
    (sum, column) => sum + (column.count ?? 0),
    0
  );
  const lastMonth = people?.total?.active;
  const today = people?.data?.[people.data.length - 1]?.active;
  const crashCount = crashes?.data?.reduce((sum, step) => sum + (step.events ?? 0), 0);
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
          <Tile to={place.to("crashes")} label={t("Crashes, 24 hours")} value={crashCount} more={t("Open crashes")} />
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
        <Tile to={place.to("push")} label={t("Recent pushes")} value={messages?.data?.length} more={t("Messages")} />
      )}
    </div>
  );
}

async function readNumbers(place: Place) {
  const has = (area: "analytics" | "crashes" | "tickets" | "notifications") => place.may(area, "read");
  const skip = Promise.resolve(undefined);
  const [people, live, crashes, releases, tickets, messages] = await Promise.all([
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
    has("crashes") ?
      orNothing(callIn(place, "GET /admin/apps/{app}/crashes/counts", { query: { interval: "hour", steps: 24 } })) :
      skip,
    has("crashes") ?
      orNothing(request("GET /admin/apps/{app}/crashes/releases", { ...given(place), query: { days: 30, limit: 5 } })) :
      skip,
    has("tickets") ? orNothing(callIn(place, "GET /admin/apps/{app}/tickets/board", { query: { limit: 1 } })) : skip,
    has("notifications") ?
      orNothing(callIn(place, "GET /admin/apps/{app}/notifications/messages", { query: { limit: 50 } })) :
      skip
  ]);
  return { people, live, crashes, releases, tickets, messages };
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

interface Step {
  title: string;
  about: string;
  to: string;
  isDone: boolean;
}

function Checklist({ place }: { place: Place }) {
  const steps = useLoad(() => readSteps(place), [place.app.id, place.environment]);
  const hiddenKey = `martlet.checklist.${place.app.id}`;
  if (!steps.data || steps.data.length === 0 || localStorage.getItem(hiddenKey)) return null;
  const open = steps.data.filter((step) => !step.isDone);
  if (open.length === 0) return null;
  const done = steps.data.length - open.length;
  return (
    <Section
      title={t("First steps")}
      note={t("{done} of {all} done", { done, all: steps.data.length })}
      actions={
        <Button
          kind="quiet"
          isSmall
          onPress={() => {
            localStorage.setItem(hiddenKey, "yes");
            steps.reload();
          }}>
          {t("Hide")}
        </Button>
      }>
      <ol className="card steps" style={{ gap: 0, paddingTop: 6, paddingBottom: 6 }}>
        {steps.data.map((step) => (
          <li key={step.title} className={step.isDone ? "done" : ""}>
            <span className="mark">
              <Icon name="check" size={12} />
            </span>
            <div>
              <strong>{step.title}</strong>
              {step.isDone && <span className="hidden">{t("done")}</span>}
              {!step.isDone && <p>{step.about}</p>}
            </div>
            {!step.isDone && <Button isSmall onPress={() => go(step.to)}>{t("Do it")}</Button>}
          </li>
        ))}
      </ol>
    </Section>
  );
}

async function readSteps(place: Place): Promise<Step[]> {
  const steps: Step[] = [];
  const check = async <T extends unknown>(
    isAllowed: boolean,
    step: Omit<Step, "isDone">,
    reading: () => Promise<T>,
    isDone: (answer: T) => boolean
  ) => {
    if (!isAllowed) return;
    const answer = await orNothing(reading());
    if (answer !== undefined) steps.push({ ...step, isDone: isDone(answer) });
  };
  const some = (answer: { data?: unknown[] }) => (answer.data?.length ?? 0) > 0;
  await check(
    place.may("applications", "read"),
    {
      title: t("Put the keys into your app"),
      about: t("The app key goes into the address, the secret into a header."),
      to: place.to("settings")
    },
    () => callIn(place, "GET /admin/apps/{app}/keys"),
    (keys) => keys.data.some((key) => key.lastUsed !== null)
  );
  await check(
    place.may("storage", "create"),
    {
      title: t("Store a first object"),
      about: t("Collections appear by themselves with the first object."),
      to: place.to("storage")
    },
    () =>
      request("GET /admin/apps/{app}/collections", given(place)).then((answer) => answer.body as { data?: unknown[] }),
    some
  );
  await check(
    place.may("storage", "update"),
    {
      title: t("Say who may read and write"),
      about: t("Without rules, a new app is closed to all but its server."),
      to: place.to("storage", { tab: "rules" })
    },
    () => callIn(place, "GET /admin/apps/{app}/rules"),
    (rules) => Object.keys(rules.collections ?? {}).length > 0
  );
  await check(
    place.may("config", "update"),
    {
      title: t("Publish a configuration"),
      about: t("Change settings and looks without a new build."),
      to: place.to("configuration")
    },
    () => callIn(place, "GET /admin/apps/{app}/config/{kind}", { path: { kind: "configuration" } }),
    (list) => (list.data ?? []).some((one) => one.liveVersion != null)
  );
  await check(
    place.may("analytics", "read"),
    {
      title: t("Send a first event"),
      about: t("Segment's clients work as they are, with an ingest key."),
      to: place.to("analytics")
    },
    () =>
      callIn(place, "GET /admin/apps/{app}/analytics/events", { query: { limit: 1 } }) as Promise<{ data: unknown[] }>,
    some
  );
  await check(
    place.may("crashes", "read"),
    { title: t("Report a first crash"), about: t("Sentry's clients work as they are."), to: place.to("crashes") },
    () => callIn(place, "GET /admin/apps/{app}/crashes/issues", { query: { limit: 1 } }),
    some
  );
  await check(
    place.may("notifications", "update"),
    {
      title: t("Store a push key"),
      about: t("From Apple or Google; browsers need none of theirs."),
      to: place.to("push", { tab: "credentials" })
    },
    () => callIn(place, "GET /admin/apps/{app}/notifications/credentials"),
    (list) => (list.data ?? []).some((one) => one.kind !== "smtp")
  );
  await check(
    place.may("staff", "create") && place.may("staff", "read"),
    { title: t("Invite a colleague"), about: t("With rights for what they work on, and no more."), to: "/staff" },
    () => request("GET /admin/staff", { query: { limit: 2 } }).then((answer) => answer.body as { data: unknown[] }),
    (list) => list.data.length > 1
  );
  return steps;
}
