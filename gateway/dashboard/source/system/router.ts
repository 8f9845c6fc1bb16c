// Addresses of pages: every view has one, through the History API.

import { useSyncExternalStore } from "react";

export const base = "/dashboard";
const listeners = new Set<() => void>();
/** Asked before leaving a page with unsaved changes; returns whether to leave. */
let guard: (() => boolean) | null = null;
/** Whether the changes are lost with the page's tab, too. */
let isOfTab = false;

function changed(): void {
  listeners.forEach((listener) => listener());
}

let current = location.pathname + location.search;
window.addEventListener("popstate", () => {
  const next = location.pathname + location.search;
  if (guard && !guard()) {
    history.pushState(null, "", current);
    return;
  }
  current = next;
  changed();
});

export function go(path: string, options: { replace?: boolean } = {}): void {
  const address = base + path;
  if (address === current) return;
  if (guard && guarded(address) !== guarded(current) && !guard()) return;
  current = address;
  if (options.replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  changed();
  if (!options.replace) document.getElementById("main")?.scrollTo(0, 0);
}

export function setGuard(next: (() => boolean) | null, ofTab = false): void {
  [guard, isOfTab] = [next, ofTab];
}

function guarded(address: string): string {
  const { pathname, searchParams } = new URL(address, location.origin);
  return isOfTab ? pathname + " " + searchParams.get("tab") : pathname;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Path without `/dashboard`, and query. */
export function useAddress(): { path: string; query: URLSearchParams } {
  const address = useSyncExternalStore(subscribe, () => current);
  const url = new URL(address, location.origin);
  return { path: url.pathname.slice(base.length) || "/", query: url.searchParams };
}

/** Changes parameters of the present address. Empty values are removed. Another tab does not have the open row. */
export function setQuery(values: Record<string, string | undefined | null>, options = { replace: true }): void {
  const url = new URL(current, location.origin);
  if ("tab" in values) url.searchParams.delete("open");
  for (const [name, value] of Object.entries(values)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  go(url.pathname.slice(base.length) + url.search, options);
}

/** The parts that `{name}` matched, or null. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const found = path.replace(/\/$/, "").split("/");
  if (wanted.length !== found.length) return null;
  const values: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = found[index] ?? "";
    if (!part.startsWith("{")) {
      if (part !== value) return null;
      continue;
    }
    try {
      values[part.slice(1, -1)] = decodeURIComponent(value);
    } catch {
      return null;
    }
  }
  return values;
}
