// One crash: where it is in the code, since when, for whom, and what becomes of it.

import { useState } from "react";
import type { CrashIssue, CrashReport } from "../../generated/api";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Link, Menu, PageHead, Section, Show, Tabs } from "../system/basics";
import { BarList, LineChart } from "../system/charts";
import { useConfirm } from "../system/dialog";
import { Select } from "../system/form";
import { JSONView } from "../system/json";
import { useLoad } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { say } from "../system/toast";
import { ago, locale, number, percent, t, time } from "../text";
import { IssueState, levelTone } from "./Crashes";

export function CrashPage({ number: id }: { number: string }) {
  const place = usePlace();
  const { query } = useAddress();
  const issue = useLoad(() => callIn(place, "GET /admin/apps/{app}/crashes/issues/{issue}", { path: { issue: id } }), [
    id,
    place.environment
  ]);
  const people = useLoad(
    async () =>
      place.may("tickets", "read") ?
        (await request("GET /admin/apps/{app}/tickets/people", given(place))).body.data as {
          id: string;
          name: string;
        }[] :
        [],
    [place.app.id]
  );
  const reportId = query.get("report");
  const report = useLoad(
    async () =>
      reportId ?
        await callIn(place, "GET /admin/apps/{app}/crashes/issues/{issue}/reports/{report}", {
          path: { issue: id, report: reportId }
        }) :
        null,
    [id, reportId]
  );
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("crashes", "update");
  const patch = async (
    body: { state?: "unresolved" | "ignored" | "resolved"; release?: string; assignee?: string | null }
  ) => {
    const old = issue.data;
    issue.show(
      {
        ...old,
        ...(await callIn(place, "PATCH /admin/apps/{app}/crashes/issues/{issue}", { path: { issue: id }, body })),
        newestReport: old?.newestReport
      } as CrashIssue
    );
    const undo = body.state && body.state !== "unresolved" ? () => void patch({ state: "unresolved" }) : undefined;
    say(t("Saved"), { undo });
  };
  const makeTicket = async () => {
    const ticket = await callIn(place, "POST /admin/apps/{app}/tickets", {
      body: {
        title: (issue.data?.title ?? "").slice(0, 200),
        type: "bug",
        priority: issue.data?.level === "fatal" ? "high" : "medium"
      }
    });
    await callIn(place, "POST /admin/apps/{app}/tickets/{ticket}/issues", {
      path: { ticket: ticket.number ?? 0 },
      body: { issues: [Number(id)] }
    });
    go(place.to("tickets/" + ticket.number));
  };
  return (
    <div className="page">
      <Show from={issue} lines={10}>
        {(data) => {
          const shown: CrashReport | null = report.data ?? (data.newestReport as CrashReport | null) ?? null;
          return (
            <>
              <PageHead title={data.title} back={{ to: place.to("crashes"), title: t("Crashes") }} note={data.culprit}>
                {canUpdate && data.state !== "resolved" && (
                  <Button
                    kind="primary"
                    onPress={() => patch({ state: "resolved" })}>
                    {t("Resolve")}
                  </Button>
                )}
                {canUpdate && (data.state === "resolved" || data.state === "ignored") && (
                  <Button onPress={() => patch({ state: "unresolved" })}>{t("Reopen")}</Button>
                )}
                {place.may("tickets", "create") && place.may("tickets", "update") && (
                  <Button icon="tickets" onPress={makeTicket}>{t("Make a ticket")}</Button>
                )}
                <Menu
                  label={t("More")}
                  items={[
                    {
                      title: t("Resolved in the next release"),
                      isHidden: !canUpdate,
                      act: () => void patch({ state: "resolved", release: "next" })
                    },
                    {
                      title: t("Ignore"),
                      isHidden: !canUpdate || data.state === "ignored",
                      act: () => void patch({ state: "ignored" })
                    },
                    {
                      title: t("Delete"),
                      isDanger: true,
                      isHidden: !place.may("crashes", "delete"),
                      act: () =>
                        ask({
                          title: t("Delete this issue?"),
                          action: t("Delete"),
                          typed: "#" + id,
                          text: t("Its reports are deleted with it. A new report makes a new issue."),
                          act: async () => {
                            await callIn(place, "DELETE /admin/apps/{app}/crashes/issues/{issue}", {
                              path: { issue: id }
                            });
                            go(place.to("crashes"));
                          }
                        })
                    }
                  ]} />
              </PageHead>
              <div className="split">
                <div className="stack-large">
                  <Months id={id} />
                  {shown ?
                    <Report report={shown} isNewest={!reportId} /> :
                    <Empty icon="crash" title={t("Its reports have expired")} />}
                </div>
                <aside className="stack-large">
                  <dl className="facts">
                    <dt>{t("State")}</dt>
                    <dd className="row">
                      <IssueState state={data.state} />
                      <Badge tone={levelTone[data.level ?? ""] ?? "neutral"}>{data.level}</Badge>
                    </dd>
                    <dt>{t("Reports")}</dt>
                    <dd>{number(data.events ?? 0)}</dd>
                    <dt>{t("People")}</dt>
                    <dd>{number(data.users ?? 0)}</dd>
                    <dt>{t("First seen")}</dt>
                    <dd>
                      {data.firstSeen && ago(data.firstSeen)}
                      {data.firstRelease ? <span className="faint">{data.firstRelease as string}</span> : null}
                    </dd>
                    <dt>{t("Last seen")}</dt>
                    <dd>
                      {data.lastSeen && ago(data.lastSeen)}
                      {data.lastRelease ? <span className="faint">{data.lastRelease as string}</span> : null}
                    </dd>
                    {data.resolvedIn ?
                      (
                        <>
                          <dt>{t("Resolved in")}</dt>
                          <dd>{data.resolvedIn as string}</dd>
                        </>
                      ) :
                      null}
                    <dt>{t("Assignee")}</dt>
                    <dd>
                      <Select
                        label={t("Assignee")}
                        value={(data.assignee as string | null) ?? ""}
                        isDisabled={!canUpdate}
                        change={(next) => void patch({ assignee: next || null })}
                        options={[
                          { value: "", title: t("Nobody") },
                          ...withPresent(people.data ?? [], data.assignee, data.assigneeName).map((one) => ({
                            value: one.id,
                            title: one.name
                          }))
                        ]} />
                    </dd>
                  </dl>
                  {(data.suspectCommits?.length ?? 0) > 0 && (
                    <Section title={t("Commits that may be to blame")}>
                      {data.suspectCommits?.map((commit) => (
                        <p key={commit.id} className="two-lines">
                          <span>{commit.message?.split("\n")[0]}</span>
                          <span className="faint">
                            <code>{commit.id?.slice(0, 8)}</code> {commit.author}
                          </span>
                        </p>
                      ))}
                    </Section>
                  )}
                  <Tags id={id} />
                </aside>
              </div>
            </>
          );
        }}
      </Show>
      {dialog}
    </div>
  );
}

/** An assignee who has left stays in the list. */
export function withPresent(
  people: { id: string; name: string }[],
  id: unknown,
  name: unknown
): { id: string; name: string }[] {
  if (typeof id !== "string" || people.some((one) => one.id === id)) return people;
  return [...people, { id, name: typeof name === "string" ? name : id.slice(0, 8) }];
}

function Months({ id }: { id: string }) {
  const place = usePlace();
  const counts = useLoad(
    () =>
      callIn(place, "GET /admin/apps/{app}/crashes/issues/{issue}/counts", {
        path: { issue: id },
        query: { interval: "day", steps: 30 }
      }),
    [id]
  );
  const rows = counts.data?.data ?? [];
  const month = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" });
  return (
    <Section title={t("Reports, last 30 days")}>
      <LineChart
        label={t("Reports, last 30 days")}
        tall={120}
        points={rows.map((row) => month.format(new Date(row.from ?? 0)))}
        series={[{ name: t("Reports"), values: rows.map((row) => row.events ?? 0) }]} />
    </Section>
  );
}

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

function Report({ report, isNewest }: { report: CrashReport; isNewest: boolean }) {
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
        {report.handled === false && <>· {t("not handled")}</>}
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
            {index > 0 && <span className="faint">{t("Caused by")}</span>}
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

interface Tag {
  key: string;
  values: { value: string; share: number; events: number }[];
}

function Tags({ id }: { id: string }) {
  const place = usePlace();
  const tags = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/crashes/issues/{issue}/tags", {
        ...given(place, { issue: id }),
        query: { values: 3 }
      })).body.data as Tag[],
    [id]
  );
  return (
    <>
      {(tags.data ?? []).map((tag) => (
        <Section key={tag.key} title={tag.key}>
          <BarList
            label={tag.key}
            bars={tag.values.map((one) => ({
              key: one.value,
              name: (
                <>
                  {one.value || "–"} <span className="faint">{percent(one.share, 0)}</span>
                </>
              ),
              value: one.events
            }))} />
        </Section>
      ))}
      {place.may("crashes", "read") && <Link to={place.to("crashes", { tab: "releases" })}>{t("All releases")}</Link>}
    </>
  );
}
