// Buttons, badges, notices and the states that every view has: loading, empty, refused.

import { Component, ReactNode, useEffect, useRef, useState } from "react";
import { Problem } from "../api/problem";
import { t, Text } from "../text";
import { Icon, IconName } from "./icons";
import { base, go } from "./router";
import { say } from "./toast";

export type Tone = "neutral" | "good" | "warning" | "bad" | "accent";

interface ButtonProperties {
  children?: ReactNode;
  icon?: IconName;
  kind?: "normal" | "primary" | "quiet" | "danger";
  label?: string;
  onPress?: (() => void) | (() => Promise<unknown>);
  type?: "button" | "submit";
  isDisabled?: boolean;
  isSmall?: boolean;
  pressed?: boolean;
}

/** While a returned promise is open, the button is busy; its refusal is shown as a message. */
export function Button(given: ButtonProperties) {
  const [isBusy, setBusy] = useState(false);
  const press = () => {
    const result = given.onPress?.();
    if (!(result instanceof Promise)) return;
    setBusy(true);
    result.catch(sayProblem).finally(() => setBusy(false));
  };
  const isIconOnly = given.icon !== undefined && given.children === undefined;
  const classes = ["button", given.kind ?? "normal", given.isSmall ? "small" : "", isIconOnly ? "icon-only" : ""];
  return (
    <button
      type={given.type ?? "button"}
      className={classes.join(" ")}
      disabled={given.isDisabled || isBusy}
      aria-busy={isBusy}
      aria-label={given.label}
      title={given.label}
      aria-pressed={given.pressed}
      onClick={press}>
      {given.icon && <Icon name={given.icon} />}
      {given.children !== undefined && <span>{given.children}</span>}
    </button>
  );
}

/** A link within the dashboard, also for a new tab. */
export function Link(
  { to, children, className, current, label }: {
    to: string;
    children?: ReactNode;
    className?: string;
    current?: boolean;
    label?: string;
  }
) {
  return (
    <a
      href={base + to}
      className={className}
      aria-current={current ? "page" : undefined}
      aria-label={label}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(to);
      }}>
      {children}
    </a>
  );
}

export function Badge({ tone = "neutral", children }: { tone?: Tone; children?: ReactNode }) {
  return <span className={"badge " + tone}>{children}</span>;
}

export function Notice({ tone = "neutral", children }: { tone?: Tone; children?: ReactNode }) {
  return <div className={"notice " + tone} role={tone === "bad" ? "alert" : "status"}>{children}</div>;
}

/** Head of a page: where it belongs, its name, what can be done. */
export function PageHead(
  { title, children, back, note }: {
    title: ReactNode;
    children?: ReactNode;
    back?: { to: string; title: string };
    note?: ReactNode;
  }
) {
  return (
    <header className="page-head">
      <div className="page-title">
        {back && (
          <Link to={back.to} className="back">
            <Icon name="left" />
            {back.title}
          </Link>
        )}
        <h1>{title}</h1>
        {note && <p className="note">{note}</p>}
      </div>
      {children && <div className="actions">{children}</div>}
    </header>
  );
}

export function Section(
  { title, actions, children, note }: { title?: ReactNode; actions?: ReactNode; children?: ReactNode; note?: ReactNode }
) {
  return (
    <section className="section">
      {(title || actions) && (
        <header>
          <h2>{title}</h2>
          {actions && <div className="actions">{actions}</div>}
        </header>
      )}
      {note && <p className="note">{note}</p>}
      {children}
    </section>
  );
}

export function Empty(
  { icon, title, children, action }: { icon?: IconName; title: string; children?: ReactNode; action?: ReactNode }
) {
  return (
    <div className="empty">
      {icon && <Icon name={icon} size={24} />}
      <h3>{title}</h3>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

/** Lines that stand for text on its way. Appears only if that takes a moment. */
export function Loading({ lines = 4 }: { lines?: number }) {
  return (
    <div className="loading" role="status" aria-label={t("Loading")}>
      {Array.from({ length: lines }, (_, index) => <span key={index} />)}
    </div>
  );
}

/** What went wrong, in words that help, with what to quote when asking for help. */
export function Refused({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, detail } = explain(error);
  const id = error instanceof Problem ? error.requestId : undefined;
  return (
    <div className="empty refused" role="alert">
      <Icon name="crash" size={24} />
      <h3>{title}</h3>
      <p>{detail}</p>
      {id && (
        <p className="faint">
          {t("Request")} <code>{id}</code>
        </p>
      )}
      {retry && <Button onPress={retry}>{t("Try again")}</Button>}
    </div>
  );
}

/** Shows what was loaded, or why there is nothing to show. */
export function Show<T>(
  { from, lines, children }: {
    from: { data: T | undefined; error: unknown; isLoading: boolean; reload: () => void };
    lines?: number;
    children: (data: T) => ReactNode;
  }
) {
  if (from.data !== undefined) return <>{children(from.data)}</>;
  return from.error !== undefined ? <Refused error={from.error} retry={from.reload} /> : <Loading lines={lines} />;
}

export function explain(error: unknown): { title: string; detail: string } {
  if (!(error instanceof Problem)) return { title: t("Something went wrong"), detail: String(error) };
  const titles: Partial<Record<number, Text>> = {
    0: "The server cannot be reached",
    401: "Please sign in again",
    403: "You do not have the right to see or do this",
    404: "This does not exist (any more)",
    409: "This is not possible now",
    412: "Somebody else changed this in the meantime",
    413: "This is too large",
    429: "Too many requests",
    501: "Not set up",
    503: "A part of the server is not available"
  };
  const title = titles[error.status];
  const fallback: Text = error.status >= 500 ? "Something failed on the server" : "The server refused this";
  const detail = error.status === 0 ?
    t("Check the connection. A change that was being sent may have been stored.") :
    error.detail;
  return { title: t(title ?? fallback), detail: error.field ? `${detail} (${error.field})` : detail };
}

export function sayProblem(error: unknown): void {
  const { title, detail } = explain(error);
  say(title, { detail, tone: "bad" });
}

export function Copy({ text, label }: { text: string; label?: string }) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    say(t("Copied"));
  };
  return <Button icon="copy" kind="quiet" isSmall label={label ?? t("Copy")} onPress={copy} />;
}

/** Switches between views of one thing; arrow keys move along. */
export function Tabs<Name extends string>(
  { tabs, current, choose, label }: {
    tabs: { name: Name; title: ReactNode }[];
    current: Name;
    choose: (name: Name) => void;
    label: string;
  }
) {
  const list = useRef<HTMLDivElement | null>(null);
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const index = (tabs.findIndex((tab) => tab.name === current) + step + tabs.length) % tabs.length;
    const next = tabs[index];
    if (!next) return;
    choose(next.name);
    (list.current?.children[index] as HTMLElement | undefined)?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
      {tabs.map((tab) => (
        <button
          key={tab.name}
          type="button"
          role="tab"
          aria-selected={tab.name === current}
          tabIndex={tab.name === current ? 0 : -1}
          onClick={() => choose(tab.name)}>
          {tab.title}
        </button>
      ))}
    </div>
  );
}

/** A choice of few, as buttons beside each other. */
export function Segmented<Name extends string>(
  { options, value, choose, label }: {
    options: { name: Name; title: string }[];
    value: Name;
    choose: (name: Name) => void;
    label: string;
  }
) {
  return (
    <div className="segmented" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.name}
          type="button"
          aria-pressed={option.name === value}
          onClick={() => choose(option.name)}>
          {option.title}
        </button>
      ))}
    </div>
  );
}

/** A menu that opens below its button. */
export function Menu(
  { label, icon = "more", items }: {
    label: string;
    icon?: IconName;
    items: { title: string; act: () => void; isDanger?: boolean; isHidden?: boolean }[];
  }
) {
  const details = useRef<HTMLDetailsElement | null>(null);
  const close = () => details.current?.removeAttribute("open");
  useEffect(() => {
    const outside = (event: Event) => {
      if (!details.current?.contains(event.target as Node)) close();
    };
    const escape = (event: KeyboardEvent) => event.key === "Escape" && close();
    document.addEventListener("click", outside);
    document.addEventListener("keydown", escape);
    document.addEventListener("scroll", close, true);
    return () => {
      document.removeEventListener("click", outside);
      document.removeEventListener("keydown", escape);
      document.removeEventListener("scroll", close, true);
    };
  }, []);
  // Fixed, so that no table cuts it off; above its button where there is no room below.
  const place = () => {
    const button = details.current?.getBoundingClientRect();
    const list = details.current?.querySelector<HTMLElement>(".menu-items");
    if (!button || !list || !details.current?.open) return;
    const isLow = button.bottom + list.offsetHeight + 8 > window.innerHeight;
    list.style.top = `${isLow ? button.top - list.offsetHeight - 4 : button.bottom + 4}px`;
    list.style.right = `${document.documentElement.clientWidth - button.right}px`;
  };
  const shown = items.filter((item) => !item.isHidden);
  if (shown.length === 0) return null;
  return (
    <details className="menu" ref={details} onToggle={place}>
      <summary className="button quiet icon-only" aria-label={label} title={label}>
        <Icon name={icon} />
      </summary>
      <div className="menu-items" role="menu">
        {shown.map((item) => (
          <button
            key={item.title}
            type="button"
            role="menuitem"
            className={item.isDanger ? "danger" : ""}
            onClick={() => {
              close();
              item.act();
            }}>
            {item.title}
          </button>
        ))}
      </div>
    </details>
  );
}

/** A broken page does not take the others with it. */
export class Boundary extends Component<{ children?: ReactNode; on: string }, { error: unknown; on: string }> {
  state = { error: undefined as unknown, on: "" };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  componentDidUpdate(previous: { on: string }) {
    if (previous.on !== this.props.on && this.state.error !== undefined) this.setState({ error: undefined });
  }
  render() {
    if (this.state.error === undefined) return this.props.children;
    return <Refused error={this.state.error} retry={() => this.setState({ error: undefined })} />;
  }
}
