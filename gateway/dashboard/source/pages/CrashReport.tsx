// One report of a crash: stack, breadcrumbs, threads, context.

import { useState } from "react";
import type { CrashReport } from "../../generated/api";
import { Badge, Button, Copy, Section, Tabs } from "../system/basics";
import { JSONView } from "../system/json";
import { setQuery } from "../system/router";
import { locale, t, time } from "../text";

interface Frame {
  function?: string;
  filename?: string;
  module?: string;
  package?: string;
  lineno?: number;
  in_app?: boolean;
  instruction_addr?: string;
  context_line?: string;
  pre_context?: string[];
  post_context?: string[];
}

interface Exception {
  type?: string;
  value?: string;
  stacktrace?: { frames?: Frame[] };
}

interface Crumb {
  timestamp?: string | number;
  category?: string;
  level?: string;
  message?: string;
  type?: string;
  data?: object;
}

interface Content {
  exception?: { values?: Exception[] };
  threads?: {
    values?: { id?: number | string; name?: string; crashed?: boolean; stacktrace?: { frames?: Frame[] } }[];
  };
  breadcrumbs?: { values?: Crumb[] } | Crumb[];
  contexts?: Record<string, object>;
  tags?: object;
  user?: object;
}

export function Report({ report, isNewest }: { report: CrashReport; isNewest: boolean }) {
  const content = (report.content ?? {}) as Content;
  const crumbs = Array.isArray(content.breadcrumbs) ? content.breadcrumbs : content.breadcrumbs?.values ?? [];
  const threads = content.threads?.values ?? [];
  const [tab, setTab] = useState<"stack" | "crumbs" | "threads" | "context" | "json">("stack");
  return (
    <Section
      title={isNewest ? t("Newest report") : t("Report")}
      actions={
        <>
          <Button
            isSmall
            icon="left"
            label={t("Older")}
            isDisabled={!report.previous}
            onPress={() => setQuery({ report: report.previous as string }, { replace: false })} />
          <Button
            isSmall
            icon="right"
            label={t("Newer")}
            isDisabled={!report.next}
            onPress={() => setQuery({ report: report.next as string }, { replace: false })} />
          <Copy text={JSON.stringify(report, null, 2)} label={t("Copy the report")} />
        </>
      }>
      <p className="faint">
        {report.time && time(report.time)} ·{" "}
        {[report.release, report.os, report.device, report.environment].filter(Boolean).join(" · ")}
        {report.handled === false && <>{" "}· {t("not handled")}</>}
      </p>
      <Tabs
        label={t("Report")}
        current={tab}
        choose={setTab}
        tabs={[
          { name: "stack", title: t("Stack") },
          ...(crumbs.length > 0 ? [{ name: "crumbs" as const, title: t("Breadcrumbs") }] : []),
          ...(threads.length > 0 ? [{ name: "threads" as const, title: t("Threads") }] : []),
          { name: "context", title: t("Context") },
          { name: "json", title: "JSON" }
        ]} />
      {tab === "stack" && <Stack exceptions={content.exception?.values ?? []} message={report.message} />}
      {tab === "crumbs" && <Crumbs crumbs={crumbs} />}
      {tab === "threads" && threads.map((thread, index) => (
        <div className="stack" key={index}>
          <h3>
            {thread.name || t("Thread {n}", { n: String(thread.id ?? index) })}{" "}
            {thread.crashed && <Badge tone="bad">{t("crashed")}</Badge>}
          </h3>
          <Frames frames={thread.stacktrace?.frames ?? []} />
        </div>
      ))}
      {tab === "context" && <Context content={content} />}
      {tab === "json" && <JSONView value={report.content} />}
    </Section>
  );
}

function Stack({ exceptions, message }: { exceptions: Exception[]; message?: string }) {
  if (exceptions.length === 0) return <p className="prose">{message}</p>;
  return (
    <>
      {[...exceptions].reverse().map((exception, index) => (
        <div className="stack" key={index}>
          <h3 className="break">
            {index > 0 && <span className="faint">{t("Caused by")}{" "}</span>}
            {exception.type}
            {exception.value && <span className="soft">: {exception.value}</span>}
          </h3>
          <Frames frames={exception.stacktrace?.frames ?? []} />
        </div>
      ))}
    </>
  );
}

/** The innermost call first; the app's own calls stand out. */
function Frames({ frames }: { frames: Frame[] }) {
  const [showsAll, setShowsAll] = useState(false);
  const ordered = [...frames].reverse();
  const hasOwn = ordered.some((frame) => frame.in_app);
  const shown = showsAll || !hasOwn ? ordered : ordered.filter((frame, index) => frame.in_app || index < 3);
  if (frames.length === 0) return <p className="faint">{t("Without a stack.")}</p>;
  return (
    <>
      <ol className="frames">
        {shown.map((frame, index) => (
          <li key={index} className={frame.in_app ? "own" : ""}>
            <span>{frame.function ?? frame.instruction_addr ?? "?"}</span>{" "}
            <span className="place">
              {frame.filename ?
                `${frame.filename}${frame.lineno ? ":" + frame.lineno : ""}` :
                (frame.package ?? frame.module ?? "").split("/").pop()}
            </span>
            {frame.context_line && (
              <pre>{(frame.pre_context ?? []).slice(-2).join("\n")}{(frame.pre_context?.length ?? 0) > 0 && "\n"}<span className="hit">{frame.context_line}</span>{(frame.post_context ?? []).slice(0, 2).join("\n")}</pre>
            )}
          </li>
        ))}
      </ol>
      {shown.length < ordered.length && (
        <div>
          <Button isSmall kind="quiet" onPress={() => setShowsAll(true)}>
            {t("Show all {n} calls", { n: ordered.length })}
          </Button>
        </div>
      )}
    </>
  );
}

function Crumbs({ crumbs }: { crumbs: Crumb[] }) {
  const clock = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });
  const at = (stamp: string | number | undefined) => {
    const date = typeof stamp === "number" ? new Date(stamp * 1000) : new Date(stamp ?? "");
    return Number.isNaN(date.getTime()) ? "" : clock.format(date);
  };
  return (
    <ol className="crumbs">
      {[...crumbs].reverse().map((crumb, index) => (
        <li key={index}>
          <span className="faint">{at(crumb.timestamp)}</span>
          <span className="soft">{crumb.category ?? crumb.type}</span>
          <span>{crumb.message ?? JSON.stringify(crumb.data ?? {})}</span>
        </li>
      ))}
    </ol>
  );
}

function Context({ content }: { content: Content }) {
  const parts: [string, object | undefined][] = [
    ["user", content.user],
    ["tags", content.tags],
    ...Object.entries(content.contexts ?? {})
  ];
  return (
    <div className="columns">
      {parts.filter(([, value]) => value && Object.keys(value).length > 0).map(([name, value]) => (
        <div className="stack" key={name}>
          <h3>{name}</h3>
          <dl className="facts">
            {Object.entries(value as Record<string, unknown>).map((
              [key, one]
            ) => [
              <dt key={key}>{key}</dt>,
              <dd key={key + "="}>{typeof one === "object" ? JSON.stringify(one) : String(one)}</dd>
            ])}
          </dl>
        </div>
      ))}
    </div>
  );
}
