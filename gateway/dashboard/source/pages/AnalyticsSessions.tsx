// Sessions, and the screens that people see most.

import { Section, Show } from "../system/basics";
import { BarList, LineChart } from "../system/charts";
import { number, shortDay, t } from "../text";
import { Asked, AsOf, CSV, noEvents, span, useQuestion } from "./AnalyticsQuestion";

export interface SessionRow {
  interval?: string;
  sessions?: number;
  averageSeconds?: number | null;
}

export function Sessions({ asked }: { asked: Asked }) {
  const sessions = useQuestion<{ data: SessionRow[]; asOf?: string | null }>("sessions", span(asked));
  return (
    <Show from={sessions}>
      {(found) => {
        const sum = found.data.reduce((total, row) => total + (row.sessions ?? 0), 0);
        if (sum === 0) return noEvents();
        return (
          <div className="stack-large">
            <Section
              title={t("Sessions")}
              note={t("{n} in all", { n: sum })}
              actions={<CSV path="sessions" query={span(asked)} name="sessions" />}>
              <SessionLines rows={found.data} />
            </Section>
            <Section title={t("Average length in minutes")}>
              <LineChart
                label={t("Average length in minutes")}
                tall={140}
                points={found.data.map((row) => shortDay(row.interval ?? ""))}
                series={[{ name: t("Minutes"), values: found.data.map((row) => minutes(row.averageSeconds)) }]} />
              <AsOf at={found.asOf} />
            </Section>
          </div>
        );
      }}
    </Show>
  );
}

export function SessionLines({ rows }: { rows: SessionRow[] }) {
  return (
    <LineChart
      label={t("Sessions")}
      points={rows.map((row) => shortDay(row.interval ?? ""))}
      series={[{ name: t("Sessions"), values: rows.map((row) => row.sessions ?? 0) }]} />
  );
}

const minutes = (seconds: number | null | undefined) => seconds == null ? null : Math.round(seconds / 6) / 10;

export interface ScreenRow {
  value?: string | null;
  other?: boolean;
  events?: number;
  people?: number | null;
}

export function Screens({ asked }: { asked: Asked }) {
  const { from, to } = span(asked);
  const query = { from, to, interval: "none", limit: 30, release: asked.release || undefined };
  const screens = useQuestion<{ data: ScreenRow[]; asOf?: string | null }>("screens", query);
  return (
    <Show from={screens}>
      {(found) =>
        found.data.length === 0 ? noEvents() : (
          <Section
            title={t("Most viewed screens")}
            note={t("The number in grey says how many people saw the screen.")}
            actions={<CSV path="screens" query={query} name="screens" />}>
            <ScreenBars rows={found.data} />
            <AsOf at={found.asOf} />
          </Section>
        )}
    </Show>
  );
}

export function ScreenBars({ rows }: { rows: ScreenRow[] }) {
  return (
    <BarList
      label={t("Most viewed screens")}
      bars={rows.map((row, index) => ({
        key: String(index),
        value: row.events ?? 0,
        name: (
          <>
            {row.other ? t("others") : row.value ?? "–"}{" "}
            {row.people != null && <span className="faint">{number(row.people)}</span>}
          </>
        )
      }))} />
  );
}
