// One crash: where it is in the code, since when, for whom, and what becomes of it.

import { useState } from "react";
import type { CrashIssue, CrashReport } from "../../generated/api";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, Menu, PageHead, Section, Segmented, Show } from "../system/basics";
import { BarList, LineChart } from "../system/charts";
import { useConfirm } from "../system/dialog";
import { Select } from "../system/form";
import { lazy } from "../system/lazy";
import { useLoad } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { say } from "../system/toast";
import { ago, locale, number, percent, t } from "../text";
import { IssueState, levelTone } from "./Crashes";
import { Report } from "./CrashReport";

const IssueHistory = lazy(async () => (await import("./CrashHistory")).IssueHistory);
const SplitDialog = lazy(async () => (await import("./CrashHistory")).SplitDialog);

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
  const [isSplitting, setSplitting] = useState(false);
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
                    { title: t("Split…"), isHidden: !canUpdate, act: () => setSplitting(true) },
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
                  <IssueHistory number={id} on={[data.state, data.changed, data.assignee].join(" ")} />
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
                      {data.firstRelease ? <span className="faint">{" "}{data.firstRelease as string}</span> : null}
                    </dd>
                    <dt>{t("Last seen")}</dt>
                    <dd>
                      {data.lastSeen && ago(data.lastSeen)}
                      {data.lastRelease ? <span className="faint">{" "}{data.lastRelease as string}</span> : null}
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
      {isSplitting && <SplitDialog number={id} close={() => setSplitting(false)} />}
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
  const { query } = useAddress();
  const isYear = query.get("span") === "year";
  const counts = useLoad(
    () =>
      callIn(place, "GET /admin/apps/{app}/crashes/issues/{issue}/counts", {
        path: { issue: id },
        query: isYear ? { interval: "month", steps: 12 } : { interval: "day", steps: 30 }
      }),
    [id, place.environment, isYear]
  );
  const rows = counts.data?.data ?? [];
  const name = new Intl.DateTimeFormat(locale, {
    ...(isYear ? { year: "2-digit" } : { day: "numeric" }),
    month: "short",
    timeZone: "UTC"
  });
  return (
    <Section
      title={t("Reports")}
      actions={
        <Segmented
          label={t("Period")}
          value={isYear ? "year" : "month"}
          choose={(next) => setQuery({ span: next === "year" ? "year" : "" })}
          options={[{ name: "month", title: t("30 days") }, { name: "year", title: t("12 months") }]} />
      }>
      <LineChart
        label={isYear ? t("Reports, last 12 months") : t("Reports, last 30 days")}
        tall={120}
        points={rows.map((row) => name.format(new Date(row.from ?? 0)))}
        series={[{ name: t("Reports"), values: rows.map((row) => row.events ?? 0) }]} />
    </Section>
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
