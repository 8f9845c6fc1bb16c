// Questions about events, each with its chart; the question is the address.

import { useState } from "react";
import { download, request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Empty, PageHead, Section, Show, Tabs } from "../system/basics";
import { BarList, LineChart, RetentionGrid } from "../system/charts";
import { Form, Select, TextField } from "../system/form";
import { JSONView } from "../system/json";
import { useInterval, useLoad, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { Dialog } from "../system/dialog";
import { ago, locale, percent, plural, shortDay, t, Text, time } from "../text";
import { TextFilter } from "./Audit";
import { daysAgo } from "./Overview";

const questions = {
  events: "Events",
  people: "People",
  retention: "Retention",
  funnel: "Funnel",
  live: "Now",
  raw: "Single events"
} as const;
type Question = keyof typeof questions;

interface Asked {
  question: Question;
  days: number;
  interval: string;
  event: string;
  group: string;
  release: string;
}

function useAsked(): Asked {
  const place = usePlace();
  const { query } = useAddress();
  const question = (Object.keys(questions) as Question[]).find((one) => one === query.get("question")) ?? "events";
  const days = Number(query.get("days") ?? "30") || 30;
  return {
    question,
    days,
    interval: query.get("interval") ?? (days > 100 ? "week" : "day"),
    event: query.get("event") ?? "",
    group: query.get("group") ?? "",
    release: place.version
  };
}

export function AnalyticsPage() {
  const asked = useAsked();
  return (
    <div className="page">
      <PageHead
        title={t("Analytics")}
        note={asked.release ?
          t("Release {version}; choose another one at the top.", { version: asked.release }) :
          undefined}>
        <Period asked={asked} />
      </PageHead>
      <Tabs
        label={t("Question")}
        current={asked.question}
        choose={(question) => setQuery({ question })}
        tabs={(Object.keys(questions) as Question[]).map((name) => ({ name, title: t(questions[name]) }))} />
      <Answer key={asked.question} asked={asked} />
    </div>
  );
}

function Period({ asked }: { asked: Asked }) {
  if (asked.question === "live" || asked.question === "raw") return null;
  return (
    <>
      <Select
        label={t("Period")}
        value={String(asked.days)}
        change={(days) => setQuery({ days })}
        options={["7", "30", "90", "365"].map((days) => ({
          value: days,
          title: plural(Number(days), "{n} day", "{n} days")
        }))} />
      {asked.question !== "funnel" && (
        <Select
          label={t("Interval")}
          value={asked.interval}
          change={(interval) => setQuery({ interval })}
          options={[{ value: "day", title: t("By day") }, { value: "week", title: t("By week") }, {
            value: "month",
            title: t("By month")
          }]} />
      )}
    </>
  );
}

function Answer({ asked }: { asked: Asked }) {
  switch (asked.question) {
    case "people":
      return <People asked={asked} />;
    case "retention":
      return <Retention asked={asked} />;
    case "funnel":
      return <Funnel asked={asked} />;
    case "live":
      return <Live />;
    case "raw":
      return <SingleEvents asked={asked} />;
    default:
      return <Counts asked={asked} />;
  }
}

const span = (asked: Asked) => ({ from: daysAgo(asked.days - 1), to: daysAgo(0), interval: asked.interval });

function useQuestion<T>(path: string, query: Record<string, string | number | boolean | undefined>) {
  const place = usePlace();
  return useLoad(
    async () => (await request(`GET /admin/apps/{app}/analytics/${path}`, { ...given(place), query })).body as T,
    [place.app.id, place.environment, path, JSON.stringify(query)]
  );
}

function CSV(
  { path, query, name }: { path: string; query: Record<string, string | number | boolean | undefined>; name: string }
) {
  const place = usePlace();
  return (
    <Button
      icon="download"
      isSmall
      onPress={() =>
        download(
          `GET /admin/apps/{app}/analytics/${path}`,
          { ...given(place), query: { ...query, format: "csv" } },
          name + ".csv"
        )}>
      CSV
    </Button>
  );
}

function AsOf({ at }: { at?: string | null }) {
  return at ? <p className="faint">{t("As of {when}", { when: ago(at) })}</p> : null;
}

const noEvents = () => (
  <Empty icon="analytics" title={t("No events in this period")}>
    {t("Segment's and RudderStack's clients send events with an ingest key; or send them to POST events yourself.")}
  </Empty>
);

const groups: Record<string, Text> = {
  "": "All together",
  event: "By event",
  release: "By release",
  os: "By system",
  device: "By device",
  country: "By country",
  variants: "By variant"
};

interface Count {
  interval?: string;
  value?: string | null;
  other?: boolean;
  events?: number;
  people?: number | null;
}

function Counts({ asked }: { asked: Asked }) {
  const query = {
    ...span(asked),
    event: asked.event || undefined,
    group: asked.group || undefined,
    limit: asked.group ? 6 : undefined,
    release: asked.release || undefined
  };
  const counts = useQuestion<{ data: Count[]; asOf?: string | null }>("counts", query);
  const top = useQuestion<{ data: Count[] }>("counts", {
    ...span(asked),
    interval: "month",
    group: "event",
    limit: 12,
    release: asked.release || undefined
  });
  return (
    <div className="stack-large">
      <div className="toolbar">
        <span className="grow">
          <TextFilter key={asked.event} name="event" value={asked.event} label={t("Name of an event")} />
        </span>
        <Select
          label={t("Group")}
          value={asked.group}
          change={(group) => setQuery({ group })}
          options={Object.entries(groups).map(([value, title]) => ({ value, title: t(title) }))} />
        <CSV path="counts" query={query} name="events" />
      </div>
      <Show from={counts}>
        {(found) => {
          if (found.data.length === 0) return noEvents();
          const points = [...new Set(found.data.map((row) => row.interval ?? ""))].sort();
          const names = [...new Set(found.data.map((row) => (row.other ? t("others") : row.value ?? t("Events"))))];
          const at = (name: string, point: string) =>
            found.data.filter((row) =>
              (row.other ? t("others") : row.value ?? t("Events")) === name && row.interval === point
            ).reduce((sum, row) => sum + (row.events ?? 0), 0);
          return (
            <Section
              title={asked.event || t("All events")}
              note={t("{n} in all", { n: found.data.reduce((sum, row) => sum + (row.events ?? 0), 0) })}>
              <LineChart
                label={t("Events")}
                points={points.map(shortDay)}
                series={names.slice(0, 6).map((name) => ({ name, values: points.map((point) => at(name, point)) }))}
                tall={240} />
              <AsOf at={found.asOf} />
            </Section>
          );
        }}
      </Show>
      {top.data && top.data.data.length > 0 && (
        <Section title={t("Most frequent")}>
          <BarList
            label={t("Most frequent")}
            bars={sums(top.data.data).map((one) => ({
              key: one.name,
              value: one.value,
              name: (
                <button
                  type="button"
                  className="button quiet small"
                  onClick={() => setQuery({ event: one.name })}>
                  {one.name}
                </button>
              )
            }))} />
        </Section>
      )}
    </div>
  );
}

function sums(rows: Count[]): { name: string; value: number }[] {
  const all = new Map<string, number>();
  for (const row of rows) if (row.value) all.set(row.value, (all.get(row.value) ?? 0) + (row.events ?? 0));
  return [...all].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
}

function People({ asked }: { asked: Asked }) {
  const people = useQuestion<
    {
      data: { interval?: string; active?: number; new?: number }[];
      total?: { active?: number; new?: number };
      asOf?: string | null;
    }
  >("people", span(asked));
  return (
    <Show from={people}>
      {(found) =>
        found.data.every((row) => !row.active) ? noEvents() : (
          <Section
            title={t("People")}
            actions={<CSV path="people" query={span(asked)} name="people" />}
            note={t("{active} were active, {new} of them for the first time", {
              active: found.total?.active ?? 0,
              new: found.total?.new ?? 0
            })}>
            <LineChart
              label={t("People")}
              tall={260}
              points={found.data.map((row) => shortDay(row.interval ?? ""))}
              series={[{ name: t("Active"), values: found.data.map((row) => row.active ?? 0) }, {
                name: t("New"),
                values: found.data.map((row) => row.new ?? 0)
              }]} />
            <AsOf at={found.asOf} />
          </Section>
        )}
    </Show>
  );
}

function Retention({ asked }: { asked: Asked }) {
  const retention = useQuestion<{ data: { cohort?: string; size?: number; period?: number; people?: number }[] }>(
    "retention",
    span(asked)
  );
  return (
    <Show from={retention}>
      {(found) => {
        const cohorts = [...new Set(found.data.map((row) => row.cohort ?? ""))].sort();
        if (cohorts.length === 0) return noEvents();
        return (
          <Section
            title={t("Who came back")}
            note={t("Of those first seen in a period, the share that was active so many periods later.")}
            actions={<CSV path="retention" query={span(asked)} name="retention" />}>
            <RetentionGrid
              rows={cohorts.map((cohort) => {
                const rows = found.data.filter((row) => row.cohort === cohort);
                const people: (number | undefined)[] = [];
                for (const row of rows) people[row.period ?? 0] = row.people;
                return { cohort: shortDay(cohort), size: rows[0]?.size ?? 0, people };
              })} />
          </Section>
        );
      }}
    </Show>
  );
}

interface Step {
  step?: number;
  event?: string;
  people?: number;
  ofFirst?: number | null;
  ofPrevious?: number | null;
}

function Funnel({ asked }: { asked: Asked }) {
  const place = usePlace();
  const { query } = useAddress();
  const stored = (query.get("steps") ?? "").split("|").filter(Boolean);
  const [steps, setSteps] = useState(stored.length > 1 ? stored : [...stored, "", ""].slice(0, 2));
  const [hours, setHours] = useState(query.get("hours") ?? "24");
  const answer = useLoad(async () => {
    if (stored.length < 2) return null;
    const { from, to } = span(asked);
    const body = { steps: stored, windowSeconds: Math.round((Number(query.get("hours") ?? "24") || 24) * 3600) };
    return (await request("POST /admin/apps/{app}/analytics/funnel", { ...given(place), query: { from, to }, body }))
      .body as { data: Step[] };
  }, [place.app.id, place.environment, query.get("steps"), query.get("hours"), asked.days]);
  return (
    <div className="columns">
      <Section title={t("Steps")} note={t("How many people did one after the other.")}>
        <Form
          action={t("Ask")}
          isDisabled={steps.filter((one) => one.trim()).length < 2}
          send={async () => setQuery({ steps: steps.map((one) => one.trim()).filter(Boolean).join("|"), hours })}
          extra={steps.length < 10 && (
            <Button icon="plus" onPress={() => setSteps([...steps, ""])}>{t("Another step")}</Button>
          )}>
          {steps.map((step, index) => (
            <TextField
              key={index}
              label={t("Step {n}", { n: index + 1 })}
              value={step}
              placeholder={index === 0 ? "Opened" : "Bought"}
              change={(next) => setSteps(steps.map((one, at) => (at === index ? next : one)))} />
          ))}
          <TextField label={t("Within hours")} type="number" value={hours} change={setHours} />
        </Form>
      </Section>
      <Section title={t("Answer")}>
        <Show from={answer}>
          {(found) =>
            found === null ? <Empty icon="analytics" title={t("Name two events or more")} /> : (
              <BarList
                label={t("Funnel")}
                bars={found.data.map((row) => ({
                  key: String(row.step),
                  value: row.people ?? 0,
                  name: (
                    <>
                      {row.step}. {row.event}{" "}
                      {row.ofFirst != null && (
                        <span className="faint">{t("{share} of the first", { share: percent(row.ofFirst) })}</span>
                      )}
                    </>
                  )
                }))} />
            )}
        </Show>
      </Section>
    </div>
  );
}

interface LiveAnswer {
  minutes?: number;
  events?: number;
  people?: number;
  topEvents?: Named[];
  topScreens?: Named[];
  data: { minute?: string; events?: number; people?: number }[];
}
interface Named {
  name?: string;
  value?: string;
  event?: string;
  screen?: string;
  events?: number;
  count?: number;
}

function Live() {
  const live = useQuestion<LiveAnswer>("live", {});
  useInterval(live.reload, 10);
  const bars = (rows: Named[] = []) =>
    rows.map((row, index) => ({
      key: String(index),
      name: row.name ?? row.value ?? row.event ?? row.screen ?? "–",
      value: row.events ?? row.count ?? 0
    }));
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
  return (
    <Show from={live}>
      {(found) => (
        <div className="stack-large">
          <Section
            title={t("The last 30 minutes")}
            note={`${plural(found.events ?? 0, "{n} event", "{n} events")}, ${
              plural(found.people ?? 0, "{n} person", "{n} people")
            }`}>
            <LineChart
              label={t("Events by minute")}
              points={found.data.map((row) => clock.format(new Date(row.minute ?? 0)))}
              series={[{ name: t("Events"), values: found.data.map((row) => row.events ?? 0) }]} />
          </Section>
          {(found.events ?? 0) > 0 && (
            <div className="columns">
              <Section title={t("Events")}>
                <BarList label={t("Events")} bars={bars(found.topEvents)} />
              </Section>
              {(found.topScreens?.length ?? 0) > 0 && (
                <Section title={t("Screens")}>
                  <BarList label={t("Screens")} bars={bars(found.topScreens)} />
                </Section>
              )}
            </div>
          )}
        </div>
      )}
    </Show>
  );
}

interface Event1 {
  id?: string;
  at?: string;
  type?: string;
  name?: string | null;
  person?: string | null;
  release?: string | null;
  os?: string | null;
  country?: string | null;
  properties?: object;
}

function SingleEvents({ asked }: { asked: Asked }) {
  const place = usePlace();
  const list = usePages<Event1>(
    async (after) =>
      (await request("GET /admin/apps/{app}/analytics/events", {
        ...given(place),
        query: { event: asked.event || undefined, after, limit: 100 }
      })).body,
    [place.app.id, place.environment, asked.event]
  );
  const [shown, show] = useState<Event1 | null>(null);
  return (
    <div className="stack">
      <div className="toolbar">
        <span className="grow">
          <TextFilter key={asked.event} name="event" value={asked.event} label={t("Name of an event")} />
        </span>
      </div>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Single events")}
            rows={rows}
            id={(row) => row.id ?? ""}
            open={show}
            hasMore={list.hasMore}
            more={list.more}
            empty={noEvents()}
            columns={[
              {
                name: "at",
                title: t("When"),
                width: "170px",
                cell: (row) => <span className="soft" title={row.at && time(row.at)}>{row.at && ago(row.at)}</span>
              },
              {
                name: "name",
                title: t("Event"),
                cell: (row) => (
                  <span className="row" style={{ flexWrap: "nowrap" }}>
                    <span className="strong">{row.name ?? row.type}</span>
                    {row.type !== "track" && <Badge>{row.type}</Badge>}
                  </span>
                )
              },
              {
                name: "person",
                title: t("Person"),
                width: "140px",
                isExtra: true,
                cell: (row) => <code className="soft">{row.person?.slice(0, 8)}</code>
              },
              {
                name: "release",
                title: t("Release"),
                width: "120px",
                isExtra: true,
                cell: (row) => <span className="soft">{row.release}</span>
              },
              {
                name: "os",
                title: t("System"),
                width: "130px",
                isExtra: true,
                cell: (row) => <span className="soft">{row.os}</span>
              },
              {
                name: "country",
                title: t("Country"),
                width: "90px",
                isExtra: true,
                cell: (row) => <span className="soft">{row.country}</span>
              }
            ]} />
        )}
      </Show>
      {shown && (
        <Dialog title={shown.name ?? shown.type ?? ""} close={() => show(null)} isWide>
          <JSONView value={shown} />
        </Dialog>
      )}
    </div>
  );
}
