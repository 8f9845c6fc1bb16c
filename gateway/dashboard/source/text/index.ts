// Texts of the dashboard. English is written where it is used; other languages are tables by the English text, and the
// compiler refuses a text that a table does not have.

import type { de } from "./de";

export type Text = keyof typeof de;
export type Language = "en" | "de";

const storageKey = "martlet.language";

function preferred(): Language {
  const stored = localStorage.getItem(storageKey);
  if (stored === "en" || stored === "de") return stored;
  return navigator.language.toLowerCase().startsWith("de") ? "de" : "en";
}

export const language: Language = preferred();
document.documentElement.lang = language;

export function setLanguage(next: Language): void {
  localStorage.setItem(storageKey, next);
  location.reload();
}

let translation: Record<Text, string> | undefined;

/** Downloads the texts of the member's language. Nothing is drawn before. */
export async function loadTexts(): Promise<void> {
  if (language === "de") translation = (await import("./de")).de;
}

type Values = Record<string, string | number>;

/** The text in the member's language, with `{name}` replaced. */
export function t(text: Text, values: Values = {}): string {
  const translated: string = translation?.[text] ?? text;
  return translated.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === "number" ? number(value) : value;
  });
}

/** `one` for 1, else `many`; both may contain `{n}`. */
export function plural(n: number, one: Text, many: Text): string {
  return t(n === 1 ? one : many, { n });
}

/** For numbers and times: the browser's region, where it speaks the dashboard's language. */
export const locale = navigator.languages.find((one) => one.toLowerCase().startsWith(language)) ?? language;

const numbers = new Intl.NumberFormat(locale);
const compactNumbers = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
const times = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const days = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const shortDays = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });

export const number = (value: number): string => numbers.format(value);
export const compact = (
  value: number
): string => (Math.abs(value) < 10_000 ? number(value) : compactNumbers.format(value));
export const percent = (share: number, digits = 1): string =>
  new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: digits }).format(share);
export const time = (iso: string): string => times.format(new Date(iso));
export const day = (iso: string): string => days.format(new Date(iso));
export const shortDay = (iso: string): string => shortDays.format(new Date(iso));

export function bytes(size: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(size)} ${units[unit]}`;
}

/** Such as "3 min. ago". */
export function ago(iso: string): string {
  const seconds = (new Date(iso).getTime() - Date.now()) / 1000;
  const steps: [Intl.RelativeTimeFormatUnit, number][] = [
    ["year", 31_536_000],
    ["month", 2_592_000],
    ["day", 86_400],
    ["hour", 3_600],
    ["minute", 60]
  ];
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(0, "second");
}
