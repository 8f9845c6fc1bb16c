// Crash issues and the health of releases.

import { useState } from "react";
import type { CrashIssue } from "../../generated/api";
import { download } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, PageHead, Segmented, Show, Tabs, Tone } from "../system/basics";
import { LineChart } from "../system/charts";
import { useConfirm } from "../system/dialog";
import { Select } from "../system/form";
import { lazy } from "../system/lazy";
import { useLoad, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, number, plural, shortDay, t, Text, time } from "../text";
import { TextFilter } from "./Audit";

export const levelTone: Record<string, Tone> = {
  fatal: "bad",
  error: "warning",
  warning: "neutral",
  info: "neutral",
  debug: "neutral"
};

export const stateTitles: Record<string, Text> = {
  unresolved: "Open",
  regressed: "Came back",
  resolved: "Resolved",
  ignored: "Ignored"
};

const stateTones: Record<string, Tone> = {
  unresolved: "neutral",
  regressed: "bad",
  resolved: "good",
  ignored: "neutral"
};

export function IssueState({ state }: { state?: string }) {
  return <Badge tone={stateTones[state ?? ""] ?? "neutral"}>{t(stateTitles[state ?? ""] ?? "Open")}</Badge>;
}

const tabs = ["issues", "releases", "alerts", "symbols"] as const;
const Releases = lazy(async () => (await import("./Releases")).Releases);
const CrashAlerts = lazy(async () => (await import("./CrashAlerts")).CrashAlerts);
const Symbols = lazy(async () => (await import("./Symbols")).Symbols);

export function CrashesPage() {
  const { query } = useAddress();
  const tab = tabs.find((one) => one === query.get("tab")) ?? "issues";
  return (
    <div className="page">
      <PageHead title={t("Crashes")} />
      <Tabs
        label={t("Crashes")}
        current={tab}
        choose={(next) => setQuery({ tab: next === "issues" ? "" : next })}
        tabs={[
          { name: "issues", title: t("Issues") },
          { name: "releases", title: t("Releases") },
          { name: "alerts", title: t("Alerts") },
          { name: "symbols", title: t("Debug symbols") }
        ]} />
      {tab === "issues" && <Issues />}
      {tab === "releases" && <Releases />}
      {tab === "alerts" && <CrashAlerts />}
      {tab === "symbols" && <Symbols />}
    </div>
  );
}

function Issues() {
  const place = usePlace();
  const { query } = useAddress();
  const [state, level, text, sort] = [
    query.get("state") ?? "open",
    query.get("level") ?? "",
    query.get("text") ?? "",
    query.get("sort") ?? "lastSeen"
  ];
  const asked = {
    state: state === "all" ? undefined : state === "open" ? "unresolved,regressed" : state,
    level: level || undefined,
    text: text || undefined,
    release: place.version || undefined,
    sort
  };
  const list = usePages<CrashIssue>(
    (cursor) => callIn(place, "GET /admin/apps/{app}/crashes/issues", { query: { ...asked, cursor, limit: 50 } }),
    [place.app.id, place.environment, JSON.stringify(asked)]
  );
  const counts = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/crashes/counts", { query: { interval: "day", steps: 30 } }),
    [place.app.id, place.environment]
  );
  const [selected, setSelected] = useState<Set<string | number>>(new Set());
  const canUpdate = place.may("crashes", "update");
  const [dialog, ask] = useConfirm();
  const update = async (next: "resolved" | "ignored" | "unresolved") => {
    const issues = [...selected].map(Number);
    const old = new Map((list.data ?? []).map((one) => [one.number, one.state]));
    await callIn(place, "POST /admin/apps/{app}/crashes/issues/update", { body: { issues, state: next } });
    setSelected(new Set());
    list.reload();
    const wasOpen = issues.every((one) => old.get(one) === "unresolved" || old.get(one) === "regressed");
    const undo = wasOpen && next !== "unresolved" ?
      () => {
        void callIn(place, "POST /admin/apps/{app}/crashes/issues/update", { body: { issues, state: "unresolved" } })
          .then(list.reload);
      } :
      undefined;
    say(plural(issues.length, "{n} issue changed", "{n} issues changed"), { undo });
  };
  const merge = () => {
    const [first, ...others] = [...selected].map(Number).sort((a, b) => a - b);
    if (first === undefined) return;
    ask({
      title: t("Merge into #{number}?", { number: String(first) }),
      action: t("Merge"),
      isDanger: false,
      text: t("The reports of the others move there, and so do later ones."),
      act: async () => {
        await callIn(place, "POST /admin/apps/{app}/crashes/issues/{issue}/merge", {
          path: { issue: first },
          body: { issues: others }
        });
        setSelected(new Set());
        list.reload();
      }
    });
  };
  const toggle = (id: string | number) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const days = counts.data?.data ?? [];
  return (
    <div className="stack">
      {days.some((one) => (one.events ?? 0) > 0) && (
        <LineChart
          label={t("Reports by day")}
          tall={130}
          points={days.map((one) => shortDay(one.from ?? ""))}
          series={[{ name: t("Reports"), values: days.map((one) => one.events ?? 0) }]} />
      )}
      <div className="toolbar">
        <Segmented
          label={t("State")}
          value={state}
          choose={(next) => setQuery({ state: next === "open" ? "" : next })}
          options={[
            { name: "open", title: t("Open") },
            { name: "resolved", title: t("Resolved") },
            { name: "ignored", title: t("Ignored") },
            { name: "all", title: t("All") }
          ]} />
        <Select
          label={t("Level")}
          value={level}
          change={(next) => setQuery({ level: next })}
          options={["", "fatal", "error", "warning", "info"].map((one) => ({
            value: one,
            title: one || t("All levels")
          }))} />
        <span className="grow">
          <TextFilter name="text" value={text} label={t("Find by text")} />
        </span>
        <Select
          label={t("Order")}
          value={sort}
          change={(next) => setQuery({ sort: next })}
          options={[
            { value: "lastSeen", title: t("Last seen") },
            { value: "firstSeen", title: t("First seen") },
            { value: "events", title: t("Most reports") },
            { value: "users", title: t("Most people") }
          ]} />
        <Button
          icon="download"
          label={t("Download as CSV")}
          onPress={() =>
            download("GET /admin/apps/{app}/crashes/issues/export", { ...given(place), query: asked }, "issues.csv")} />
      </div>
      {selected.size > 0 && (
        <div className="toolbar">
          <span className="soft">{plural(selected.size, "{n} selected", "{n} selected")}</span>
          <Button isSmall onPress={() => update("resolved")}>{t("Resolve")}</Button>
          <Button isSmall onPress={() => update("ignored")}>{t("Ignore")}</Button>
          <Button isSmall onPress={() => update("unresolved")}>{t("Reopen")}</Button>
          {selected.size > 1 && <Button isSmall onPress={merge}>{t("Merge…")}</Button>}
        </div>
      )}
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Issues")}
            rows={rows}
            id={(issue) => issue.number ?? 0}
            to={(issue) => place.to("crashes/" + issue.number)}
            hasMore={list.hasMore}
            more={list.more}
            selected={canUpdate ? selected : undefined}
            select={canUpdate ? toggle : undefined}
            empty={state === "open" && !level && !text ?
              (
                <Empty icon="check" title={t("No open crashes")}>
                  {t("Sentry's clients report to this server with an ingest key.")}
                </Empty>
              ) :
              <Empty icon="crash" title={t("Nothing matches")} />}
            columns={[
              {
                name: "title",
                title: t("Issue"),
                cell: (issue) => (
                  <span className="two-lines">
                    <Link to={place.to("crashes/" + issue.number)}>{issue.title}</Link>
                    <span className="faint">#{issue.number} · {issue.culprit}</span>
                  </span>
                )
              },
              {
                name: "level",
                title: "",
                width: "80px",
                cell: (issue) => <Badge tone={levelTone[issue.level ?? ""] ?? "neutral"}>{issue.level}</Badge>
              },
              {
                name: "state",
                title: "",
                width: "104px",
                isExtra: true,
                cell: (issue) => issue.state !== "unresolved" && <IssueState state={issue.state} />
              },
              {
                name: "release",
                title: t("Release"),
                width: "110px",
                isExtra: true,
                cell: (issue) => <span className="soft">{issue.lastRelease}</span>
              },
              {
                name: "seen",
                title: t("Last seen"),
                width: "120px",
                isExtra: true,
                cell: (issue) => (
                  <span className="soft" title={issue.lastSeen && time(issue.lastSeen)}>
                    {issue.lastSeen && ago(issue.lastSeen)}
                  </span>
                )
              },
              {
                name: "events",
                title: t("Reports"),
                width: "84px",
                isNumber: true,
                cell: (issue) => number(issue.events ?? 0)
              },
              {
                name: "users",
                title: t("People"),
                width: "84px",
                isNumber: true,
                isExtra: true,
                cell: (issue) => number(issue.users ?? 0)
              },
              {
                name: "assignee",
                title: "",
                width: "52px",
                isExtra: true,
                cell: (issue) =>
                  issue.assigneeName && (
                    <span className="avatar" title={issue.assigneeName}>{initials(issue.assigneeName)}</span>
                  )
              }
            ]} />
        )}
      </Show>
      {dialog}
    </div>
  );
}

export function initials(name: string): string {
  return name.split(/[\s._-]+/).map((part) => part[0] ?? "").join("").slice(0, 2).toUpperCase();
}
