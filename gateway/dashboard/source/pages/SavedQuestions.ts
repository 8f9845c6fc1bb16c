// Questions about events that the server keeps by name: what the page asks, and the address that asks it again.

import type { SavedQuestion } from "../../generated/api";
import { Place } from "../shell/place";
import { plural, t } from "../text";
import { Asked, questions } from "./AnalyticsQuestion";

export type Saveable = SavedQuestion["kind"];

/** Saved questions name the call that answers them; the page calls only one of them by another name. */
const pageOf = (kind: Saveable) => kind === "counts" ? "events" : kind;

/** What the page asks, as it is saved; undefined for what cannot be saved or is not complete. */
export function questionOf(asked: Asked, query: URLSearchParams): SavedQuestion | undefined {
  const { days, interval } = asked;
  const given = (values: Record<string, string>) => Object.fromEntries(Object.entries(values).filter(([, one]) => one));
  const { event, group, release } = asked;
  switch (asked.question) {
    case "events":
      return { kind: "counts", days, parameters: given({ interval, event, group, release }) };
    case "people":
    case "sessions":
    case "retention":
      return { kind: asked.question, days, parameters: { interval } };
    case "screens":
      return { kind: "screens", days, parameters: given({ release }) };
    case "funnel": {
      const steps = (query.get("steps") ?? "").split("|").filter(Boolean);
      const windowSeconds = Math.round((Number(query.get("hours") ?? "24") || 24) * 3600);
      return steps.length > 1 ? { kind: "funnel", days, steps, windowSeconds } : undefined;
    }
    default:
      return undefined;
  }
}

/** The page that asks a saved question. Filters that only the API knows are left out. */
export function addressOfQuestion(place: Place, one: SavedQuestion): string {
  const { interval, event, group, release } = one.parameters ?? {};
  return place.to("analytics", {
    question: pageOf(one.kind),
    days: String(one.days ?? 30),
    interval,
    event,
    group,
    version: release,
    steps: one.steps?.join("|"),
    hours: one.windowSeconds ? String(one.windowSeconds / 3600) : undefined
  });
}

/** Such as "Events · 30 days · Opened · release". */
export function wordsOf(one: SavedQuestion): string {
  const { interval: _, ...filters } = one.parameters ?? {};
  const parts = one.steps ? [one.steps.join(" → ")] : Object.values(filters);
  return [t(questions[pageOf(one.kind)]), plural(one.days ?? 30, "{n} day", "{n} days"), ...parts].join(" · ");
}
