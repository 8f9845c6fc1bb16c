// Answers drawn as charts: events, people, retention, funnels.

import { useState } from "react";
import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Button, Empty, Section, Show } from "../system/basics";
import { BarList, LineChart, RetentionGrid } from "../system/charts";
import { Form, Select, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { percent, shortDay, t, Text } from "../text";
import { TextFilter } from "./Audit";
import { Asked, AsOf, CSV, noEvents, span, useQuestion } from "./AnalyticsQuestion";

const groups: Record<string, Text> = {
  "": "All together",
  event: "By event",
  release: "By release",
  os: "By system",
  device: "By device",
  country: "By country",
  variants: "By variant"
};

export interface Count {
  interval?: string;
  value?: string | null;
  other?: boolean;
  events?: number;
  people?: number | null;
}

export function Counts({ asked }: { asked: Asked }) {
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
          return (
            <Section
              title={asked.event || t("All events")}
              note={t("{n} in all", { n: found.data.reduce((sum, row) => sum + (row.events ?? 0), 0) })}>
              <CountLines rows={found.data} tall={240} />
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

/** Events by interval, with a line for each value of the group. */
export function CountLines({ rows, tall }: { rows: Count[]; tall?: number }) {
  const nameOf = (row: Count) => row.other ? t("others") : row.value ?? t("Events");
  const points = [...new Set(rows.map((row) => row.interval ?? ""))].sort();
  const names = [...new Set(rows.map(nameOf))];
  const at = (name: string, point: string) =>
    rows.filter((row) => nameOf(row) === name && (row.interval ?? "") === point)
      .reduce((sum, row) => sum + (row.events ?? 0), 0);
  return (
    <LineChart
      label={t("Events")}
      points={points.map(shortDay)}
      series={names.slice(0, 6).map((name) => ({ name, values: points.map((point) => at(name, point)) }))}
      tall={tall} />
  );
}

function sums(rows: Count[]): { name: string; value: number }[] {
  const all = new Map<string, number>();
  for (const row of rows) if (row.value) all.set(row.value, (all.get(row.value) ?? 0) + (row.events ?? 0));
  return [...all].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
}

export interface PeopleRow {
  interval?: string;
  active?: number;
  new?: number;
}

export function PeopleLines({ rows, tall }: { rows: PeopleRow[]; tall?: number }) {
  return (
    <LineChart
      label={t("People")}
      tall={tall}
      points={rows.map((row) => shortDay(row.interval ?? ""))}
      series={[
        { name: t("Active"), values: rows.map((row) => row.active ?? 0) },
        { name: t("New"), values: rows.map((row) => row.new ?? 0) }
      ]} />
  );
}

export function People({ asked }: { asked: Asked }) {
  const people = useQuestion<
    {
      data: PeopleRow[];
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
            <PeopleLines rows={found.data} tall={260} />
            <AsOf at={found.asOf} />
          </Section>
        )}
    </Show>
  );
}

export interface CohortRow {
  cohort?: string;
  size?: number;
  period?: number;
  people?: number;
}

export function Cohorts({ rows }: { rows: CohortRow[] }) {
  const cohorts = [...new Set(rows.map((row) => row.cohort ?? ""))].sort();
  return (
    <RetentionGrid
      rows={cohorts.map((cohort) => {
        const mine = rows.filter((row) => row.cohort === cohort);
        const people: (number | undefined)[] = [];
        for (const row of mine) people[row.period ?? 0] = row.people;
        return { cohort: shortDay(cohort), size: mine[0]?.size ?? 0, people };
      })} />
  );
}

export function Retention({ asked }: { asked: Asked }) {
  const retention = useQuestion<{ data: CohortRow[] }>("retention", span(asked));
  return (
    <Show from={retention}>
      {(found) =>
        found.data.length === 0 ? noEvents() : (
          <Section
            title={t("Who came back")}
            note={t("The share of those first seen in a period who were active this many periods later.")}
            actions={<CSV path="retention" query={span(asked)} name="retention" />}>
            <Cohorts rows={found.data} />
          </Section>
        )}
    </Show>
  );
}

export interface Step {
  step?: number;
  event?: string;
  people?: number;
  ofFirst?: number | null;
  ofPrevious?: number | null;
}

export function FunnelBars({ steps }: { steps: Step[] }) {
  return (
    <BarList
      label={t("Funnel")}
      bars={steps.map((row) => ({
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
  );
}

export function Funnel({ asked }: { asked: Asked }) {
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
      <Section title={t("Steps")} note={t("How many people took these steps in this order.")}>
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
            found === null ?
              <Empty icon="analytics" title={t("Name two events or more")} /> :
              <FunnelBars steps={found.data} />}
        </Show>
      </Section>
    </div>
  );
}
