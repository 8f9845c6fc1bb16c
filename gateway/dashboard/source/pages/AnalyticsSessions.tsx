// Sessions, and the screens that people see most.

import { Section, Show } from "../system/basics";
import { BarList, LineChart } from "../system/charts";
import { number, shortDay, t } from "../text";
import { Asked, AsOf, CSV, noEvents, span, useQuestion } from "./AnalyticsQuestion";

interface SessionRow {
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
        const points = found.data.map((row) => shortDay(row.interval ?? ""));
        return (
          <div className="stack-large">
            <Section
              title={t("Sessions")}
              note={t("{n} in all", { n: sum })}
              actions={<CSV path="sessions" query={span(asked)} name="sessions" />}>
              <LineChart
                label={t("Sessions")}
                points={points}
                series={[{ name: t("Sessions"), values: found.data.map((row) => row.sessions ?? 0) }]} />
            </Section>
            <Section title={t("Average length in minutes")}>
              <LineChart
                label={t("Average length in minutes")}
                tall={140}
                points={points}
                series={[{ name: t("Minutes"), values: found.data.map((row) => minutes(row.averageSeconds)) }]} />
              <AsOf at={found.asOf} />
            </Section>
          </div>
        );
      }}
    </Show>
  );
}

const minutes = (seconds: number | null | undefined) => seconds == null ? null : Math.round(seconds / 6) / 10;

interface ScreenRow {
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
            note={t("With how many people saw each.")}
            actions={<CSV path="screens" query={query} name="screens" />}>
            <BarList
              label={t("Most viewed screens")}
              bars={found.data.map((row, index) => ({
                key: String(index),
                value: row.events ?? 0,
                name: (
                  <>
                    {row.other ? t("others") : row.value ?? "–"}{" "}
                    {row.people != null && <span className="faint">{number(row.people)}</span>}
                  </>
                )
              }))} />
            <AsOf at={found.asOf} />
          </Section>
        )}
    </Show>
  );
}
