// An editor for JSON: colours, line numbers, errors where they are, and the place of a JSON Pointer.

import { ReactNode, Ref, useEffect, useMemo, useRef, useState } from "react";
import { t } from "../text";
import { Badge } from "./basics";
import { wrongText } from "./form";
import { setGuard } from "./router";

export interface Finding {
  severity: "error" | "warning";
  code?: string;
  path: string;
  message: string;
}

export const pretty = (value: unknown): string => JSON.stringify(value, null, 2);

export interface Parsed {
  value?: unknown;
  error?: { message: string; at: number };
}

export function parse(text: string): Parsed {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const message = String((error as Error).message);
    const position = /position (\d+)/.exec(message)?.[1];
    return {
      error: {
        message: t("This is not JSON yet: {reason}", { reason: message }),
        at: position ? Number(position) : text.length
      }
    };
  }
}

/** Where the value that `pointer` (RFC 6901) names begins in the text; the nearest parent if it is missing. */
export function locate(text: string, pointer: string): number {
  const wanted = pointer.split("/").slice(1).map((part) => part.replace(/~1/g, "/").replace(/~0/g, "~"));
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  const places: number[] = [];
  let end = 0;
  for (const token of tokens) {
    places.push(text.indexOf(token, end));
    end = (places[places.length - 1] ?? 0) + token.length;
  }
  let at = 0;
  let best = 0;
  let found = -1;
  const value = (path: string[]): void => {
    const isOnPath = path.length <= wanted.length && path.every((part, index) => part === wanted[index]);
    if (isOnPath && at < tokens.length) {
      best = places[at] ?? 0;
      if (path.length === wanted.length && found < 0) found = best;
    }
    const opening = tokens[at++];
    if (opening !== "{" && opening !== "[") return;
    for (let index = 0; at < tokens.length && tokens[at] !== "}" && tokens[at] !== "]"; index++) {
      let name = String(index);
      if (opening === "{") {
        try {
          name = String(JSON.parse(tokens[at] ?? ""));
        } catch {
          return;
        }
        at++;
        if (tokens[at] === ":") at++;
      }
      value([...path, name]);
      if (tokens[at] === ",") at++;
    }
    at++;
  };
  value([]);
  return found >= 0 ? found : best;
}

const kinds = /("(?:[^"\\\n]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)/g;

/** JSON with its kinds of values coloured. */
export function highlight(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(kinds)) {
    const start = match.index ?? 0;
    if (start > end) parts.push(text.slice(end, start));
    const kind = match[1] ? (match[2] ? "name" : "string") : match[3] ? "word" : "digits";
    const shown = match[1] ?? match[0];
    parts.push(<span key={start} className={"json-" + kind}>{shown}</span>);
    if (match[2]) parts.push(match[2]);
    end = start + match[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}

export function JSONView({ value }: { value: unknown }) {
  const text = pretty(value) ?? "";
  return <pre className="json-view" tabIndex={0}>{text.length > 200_000 ? text : highlight(text)}</pre>;
}

/** What can stand in a string: as the value of a member, or as a name or an element, where `member` is undefined. */
export type Words = (member: string | undefined, isName: boolean) => string[];

const mostWords = 8;

interface Completion {
  typed: string;
  words: string[];
  isName: boolean;
}

/** What can complete the string that the caret is in. */
export function complete(text: string, caret: number, words: Words): Completion | null {
  const line = text.slice(0, caret).split("\n").pop() ?? "";
  const quotes = [...line.matchAll(/\\.|"/g)].filter((match) => match[0] === '"');
  const last = quotes[quotes.length - 1];
  if (quotes.length % 2 === 0 || last?.index === undefined) return null;
  const typed = line.slice(last.index + 1);
  const before = text.slice(0, caret - typed.length - 1).trimEnd();
  const member = /"((?:[^"\\]|\\.)*)"\s*:$/.exec(before)?.[1];
  const isName = member === undefined;
  const found = [...new Set(words(member, isName))].filter((word) =>
    word !== typed && word.toLowerCase().startsWith(typed.toLowerCase())
  );
  return found.length > 0 ? { typed, words: found.slice(0, mostWords), isName } : null;
}

export function JSONEditor(
  { text, change, findings = [], words, label, isReadOnly, lines = 18 }: {
    text: string;
    change: (text: string) => void;
    findings?: Finding[];
    words?: Words;
    label: string;
    isReadOnly?: boolean;
    lines?: number;
  }
) {
  const area = useRef<HTMLTextAreaElement | null>(null);
  const back = useRef<HTMLPreElement | null>(null);
  const gutter = useRef<HTMLDivElement | null>(null);
  const parsed = useMemo(() => parse(text), [text]);
  const count = useMemo(() => text.split("\n").length, [text]);
  const coloured = useMemo(() => (text.length > 200_000 ? text : highlight(text)), [text]);
  const marks = useMemo(() => {
    const lineOf = (at: number) => text.slice(0, at).split("\n").length;
    const found = findings.map((finding) => ({ ...finding, line: lineOf(locate(text, finding.path)) }));
    if (parsed.error) {
      found.unshift({ severity: "error", path: "", message: parsed.error.message, line: lineOf(parsed.error.at) });
    }
    return found;
  }, [text, findings, parsed]);
  const [completion, setCompletion] = useState<Completion | null>(null);
  const look = (element: HTMLTextAreaElement) =>
    setCompletion(words && !isReadOnly ? complete(element.value, element.selectionStart, words) : null);
  const insert = (word: string) => {
    const element = area.current;
    if (!element || !completion) return;
    const rest = element.value.slice(element.selectionStart);
    const end = rest.startsWith('"') ? "" : completion.isName && !/^\s*:/.test(rest) ? '": ' : '"';
    element.focus();
    element.setSelectionRange(element.selectionStart - completion.typed.length, element.selectionStart);
    document.execCommand("insertText", false, word + end);
    setCompletion(null);
  };
  const byLine = new Map(marks.map((mark) => [mark.line, mark.severity]));

  const scroll = () => {
    if (!area.current) return;
    if (back.current) {
      [back.current.scrollTop, back.current.scrollLeft] = [area.current.scrollTop, area.current.scrollLeft];
    }
    if (gutter.current) gutter.current.scrollTop = area.current.scrollTop;
  };
  const key = (event: KeyboardEvent) => {
    const element = area.current;
    if (!element || isReadOnly) return;
    // Tab completes or indents; Escape lets the next Tab leave the editor.
    const first = completion?.words[0];
    if (event.key === "Tab" && !event.shiftKey && first !== undefined && completion?.typed) {
      event.preventDefault();
      insert(first);
    } else if (event.key === "Tab" && !event.shiftKey && !element.dataset.leaving) {
      event.preventDefault();
      document.execCommand("insertText", false, "  ");
    } else if (event.key === "Enter") {
      const line = element.value.slice(0, element.selectionStart).split("\n").pop() ?? "";
      const indent = /^\s*/.exec(line)?.[0] ?? "";
      event.preventDefault();
      document.execCommand("insertText", false, "\n" + indent + (/[{[]\s*$/.test(line) ? "  " : ""));
    }
    if (event.key === "Escape") {
      // Only the second time it closes the dialog around the editor.
      if (!element.dataset.leaving) event.preventDefault();
      element.dataset.leaving = "yes";
      setCompletion(null);
    } else if (event.key !== "Tab") delete element.dataset.leaving;
  };
  const jump = (line: number) => {
    const element = area.current;
    if (!element) return;
    const start = text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const end = text.indexOf("\n", start);
    element.focus();
    element.setSelectionRange(start, end < 0 ? text.length : end);
    element.scrollTop = (line - 4) * 20;
  };

  return (
    <div className="json-editor">
      <div className="json-frame" style={{ height: Math.min(Math.max(count + 2, 6), lines) * 20 + 20 }}>
        <div className="json-gutter" ref={gutter} aria-hidden="true">
          {Array.from(
            { length: count },
            (_, index) => <span key={index} className={byLine.get(index + 1)}>{index + 1}</span>
          )}
        </div>
        <pre ref={back} aria-hidden="true">{coloured}{"\n"}</pre>
        <textarea
          ref={area}
          value={text}
          aria-label={label}
          spellCheck={false}
          readOnly={isReadOnly}
          wrap="off"
          autoComplete="off"
          onScroll={scroll}
          onKeyDown={key}
          onChange={(event) => {
            change(event.currentTarget.value);
            look(event.currentTarget);
          }} />
      </div>
      {completion && (
        <div className="chips" role="group" aria-label={t("Completions, the first by Tab")}>
          {completion.words.map((word) => (
            <button
              key={word}
              type="button"
              className="button small"
              onClick={() => insert(word)}>
              {word}
            </button>
          ))}
        </div>
      )}
      {marks.length > 0 && (
        <ul className="findings" aria-label={t("Findings")}>
          {marks.map((mark, index) => (
            <li key={index}>
              <button type="button" onClick={() => jump(mark.line)}>
                <Badge tone={mark.severity === "error" ? "bad" : "warning"}>
                  {t("Line {line}", { line: mark.line })}
                </Badge>
                <span>{mark.message}</span>
                {mark.path && <code>{mark.path}</code>}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function Severity({ finding }: { finding: Finding }) {
  const isError = finding.severity === "error";
  return <Badge tone={isError ? "bad" : "warning"}>{isError ? t("Error") : t("Warning")}</Badge>;
}

/**
 * Asks before unsaved changes are lost, or a text in `page` that stands for no value. `isOfTab`: the page's other tabs
 * lose them, too.
 */
export function useUnsaved(isUnsaved: boolean, page?: Ref<HTMLElement | null>, isOfTab = false): void {
  const unsaved = useRef(isUnsaved);
  unsaved.current = isUnsaved;
  useEffect(() => {
    const isLost = () => unsaved.current || wrongText(page?.current ?? null) !== null;
    setGuard(() => !isLost() || window.confirm(t("There are unsaved changes. Leave anyway?")), isOfTab);
    const warn = (event: Event) => isLost() && event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => {
      setGuard(null);
      window.removeEventListener("beforeunload", warn);
    };
  }, []);
}
