// Push messages by day or month, on the overview.

import { useState } from "react";
import { callIn, usePlace } from "../shell/place";
import { Section, Segmented, Show } from "../system/basics";
import { LineChart } from "../system/charts";
import { useLoad } from "../system/load";
import { locale, shortDay, t } from "../text";

export interface PushCounts {
  from?: string;
  messages?: number;
  accepted?: number;
  opened?: number;
}

const month = new Intl.DateTimeFormat(locale, { year: "2-digit", month: "short", timeZone: "UTC" });

/** @param days The last 30 days. Months are read when they are asked for. */
export function Pushes({ days }: { days: PushCounts[] }) {
  const place = usePlace();
  const [isYear, setYear] = useState(false);
  const months = useLoad(
    async (): Promise<PushCounts[]> =>
      isYear ?
        (await callIn(place, "GET /admin/apps/{app}/notifications/messages/counts", {
          query: { interval: "month", steps: 12 }
        })).data ?? [] :
        [],
    [place.app.id, place.environment, isYear]
  );
  return (
    <Section
      title={t("Pushes")}
      actions={
        <Segmented
          label={t("Period")}
          value={isYear ? "year" : "month"}
          choose={(next) => setYear(next === "year")}
          options={[{ name: "month", title: t("30 days") }, { name: "year", title: t("12 months") }]} />
      }>
      {isYear ?
        (
          <Show from={months} lines={8}>
            {(rows) => (
              <Lines
                label={t("Pushes, last 12 months")}
                rows={rows}
                name={(from) => month.format(new Date(from))} />
            )}
          </Show>
        ) :
        <Lines label={t("Pushes, last 30 days")} rows={days} name={shortDay} />}
    </Section>
  );
}

function Lines({ label, rows, name }: { label: string; rows: PushCounts[]; name: (from: string) => string }) {
  return (
    <LineChart
      label={label}
      points={rows.map((row) => name(row.from ?? ""))}
      series={[
        { name: t("Delivered"), values: rows.map((row) => row.accepted ?? 0) },
        { name: t("Opened"), values: rows.map((row) => row.opened ?? 0) }
      ]} />
  );
}
