import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { Problem } from "../api/problem";
import { session } from "../api/session";
import { sayProblem } from "./basics";

export interface Loaded<T> {
  data: T | undefined;
  error: unknown;
  isLoading: boolean;
  reload: () => void;
  /** Shows other data until the next answer. */
  show: (data: T) => void;
}

/**
 * Calls `read` when the component appears and when `on` changes. A change of `on` clears the data at once; `reload`
 * keeps the earlier data until newer ones arrive, and calls `read` with true.
 */
export function useLoad<T>(read: (isSame: boolean) => Promise<T>, on: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error?: unknown; isLoading: boolean }>({ isLoading: true });
  const turn = useRef(0);
  const reading = useRef(read);
  reading.current = read;
  const load = useCallback((isSame: boolean) => {
    const mine = ++turn.current;
    setState((old) => ({ data: isSame ? old.data : undefined, isLoading: true }));
    reading.current(isSame).then(
      (data) => mine === turn.current && setState({ data, isLoading: false }),
      (error) => mine === turn.current && setState((old) => ({ data: old.data, error, isLoading: false }))
    );
  }, []);
  useEffect(() => {
    load(false);
    return () => void turn.current++;
  }, on);
  // A read that failed because the session had ended is repeated once the member has signed in again.
  const sessionState = useSyncExternalStore(session.subscribe, session.state);
  useEffect(() => {
    if (sessionState === "open" && state.error instanceof Problem && state.error.status === 401) load(true);
  }, [sessionState]);
  const reload = useCallback(() => load(true), []);
  const show = useCallback((data: T) => setState((old) => ({ ...old, data })), []);
  return { data: state.data, error: state.error, isLoading: state.isLoading, reload, show };
}

/** A list that grows page by page. A reload reads as many rows as there were, so that the reader keeps the place. */
export interface Pages<T> extends Loaded<T[]> {
  hasMore: boolean;
  more: () => void;
  /** Reloads a list that is short and not being read: for `useInterval`. */
  refresh: () => void;
}

/** Of a reload. The rows of further pages are read again when the reader scrolls. */
const mostPages = 20;
/** Of a list that is read again by itself. */
const mostRefreshedRows = 200;

export function usePages<T>(
  read: (cursor: string | undefined) => Promise<{ data?: T[]; next?: string | number | null }>,
  on: readonly unknown[]
): Pages<T> {
  const [next, setNext] = useState<string | undefined>(undefined);
  // A page that was asked for before the list began anew belongs to another list.
  const turn = useRef(0);
  /** The turn in which another page is being read. */
  const busy = useRef(0);
  /** Whether another page was asked for and has not arrived. A reload reads it, too. */
  const isWanted = useRef(false);
  const count = useRef(0);
  const first = useLoad(async (isSame) => {
    const mine = ++turn.current;
    const known = isSame ? count.current : 0;
    if (!isSame) isWanted.current = false;
    let rows: T[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await read(cursor);
      rows = rows.concat(page.data ?? []);
      cursor = cursorOf(page);
    } while (
      cursor !== undefined && rows.length < known + Number(isWanted.current) && ++pages < mostPages &&
      mine === turn.current
    );
    if (mine === turn.current) {
      isWanted.current = false;
      setNext(cursor);
    }
    return rows;
  }, on);
  useEffect(() => () => void turn.current++, []);
  count.current = first.data?.length ?? 0;
  const more = () => {
    if (next === undefined || busy.current === turn.current) return;
    isWanted.current = true;
    if (first.isLoading) return;
    const mine = busy.current = turn.current;
    read(next).then(
      (page) => {
        if (mine !== turn.current) return;
        busy.current = 0;
        isWanted.current = false;
        setNext(cursorOf(page));
        first.show([...(first.data ?? []), ...(page.data ?? [])]);
      },
      (error) => {
        if (mine !== turn.current) return;
        isWanted.current = false;
        sayProblem(error);
        // A table asks again when it is scrolled.
        setTimeout(() => mine === busy.current && (busy.current = 0), pauseInMilliseconds);
      }
    );
  };
  const refresh = () => !first.isLoading && count.current <= mostRefreshedRows && first.reload();
  return { ...first, hasMore: next !== undefined, more, refresh };
}

/** After a page that could not be read. */
const pauseInMilliseconds = 5000;

const cursorOf = (page: { next?: string | number | null }): string | undefined =>
  page.next === undefined || page.next === null ? undefined : String(page.next);

/** Calls `act` every `seconds` while the page is visible. */
export function useInterval(act: () => void, seconds: number): void {
  const acting = useRef(act);
  acting.current = act;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && acting.current(), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}
