// What all questions about events share.

import { download, request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Button, Empty } from "../system/basics";
import { useLoad } from "../system/load";
import { useAddress } from "../system/router";
import { ago, t } from "../text";
import { daysAgo } from "./Overview";

export const questions = {
  events: "Events",
  people: "People",
  sessions: "Sessions",
  screens: "Screens",
  retention: "Retention",
  funnel: "Funnel",
  live: "Now",
  raw: "Single events",
  saved: "Saved"
} as const;

export type Question = keyof typeof questions;

export interface Asked {
  question: Question;
  days: number;
  interval: string;
  event: string;
  group: string;
  release: string;
}

export function useAsked(): Asked {
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

export const span = (asked: Asked) => ({ from: daysAgo(asked.days - 1), to: daysAgo(0), interval: asked.interval });

export function useQuestion<T>(path: string, query: Record<string, string | number | boolean | undefined>) {
  const place = usePlace();
  return useLoad(
    async () => (await request(`GET /admin/apps/{app}/analytics/${path}`, { ...given(place), query })).body as T,
    [place.app.id, place.environment, path, JSON.stringify(query)]
  );
}

export function CSV(
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

export function AsOf({ at }: { at?: string | null }) {
  return at ? <p className="faint">{t("As of {when}", { when: ago(at) })}</p> : null;
}

export const noEvents = () => (
  <Empty icon="analytics" title={t("No events in this period")}>
    {t("Segment's and RudderStack's clients send events with an ingest key; or send them to POST events yourself.")}
  </Empty>
);
