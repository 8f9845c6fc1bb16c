// What became of an issue and who did it; and its division into two.

import { ReactNode, useState } from "react";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Button, Empty, Link, Section, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Form } from "../system/form";
import { useLoad, usePages } from "../system/load";
import { go } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, number, plural, t, time } from "../text";
import { nameOfAuthor } from "./authors";

interface Act {
  id: number;
  time: string;
  kind: string;
  author: string;
  authorName: string | null;
  /** Of the new assignee. */
  toName: string | null;
  details: {
    how?: string;
    release?: string;
    commit?: { id?: string };
    until?: string;
    events?: number;
    users?: number;
    /** The new assignee's id; or the number of the issue that was split off. */
    to?: string | number | null;
    from?: number;
    issues?: { number: number }[];
  };
}

/** Reads the history anew when `on` changes. */
export function IssueHistory({ number: issue, on }: { number: string; on: string }) {
  const place = usePlace();
  const list = usePages<Act>(
    async (before) =>
      (await request("GET /admin/apps/{app}/crashes/issues/{issue}/history", {
        ...given(place, { issue }),
        query: { before, limit: 20 }
      })).body,
    [issue, place.environment, on]
  );
  return (
    <Section title={t("History")}>
      <Show from={list} lines={2}>
        {(acts) => (
          <ol className="crumbs" aria-label={t("History")}>
            {acts.map((act) => (
              <li key={act.id}>
                <span className="faint" title={time(act.time)}>{ago(act.time)}</span>
                <span className="soft">{nameOfAuthor(act.author, act.authorName)}</span>
                <span>{wordsOf(act, (other) => place.to("crashes/" + other))}</span>
              </li>
            ))}
          </ol>
        )}
      </Show>
      {list.hasMore && (
        <div>
          <Button isSmall onPress={list.more}>{t("Show more")}</Button>
        </div>
      )}
    </Section>
  );
}

function wordsOf({ kind, details, toName }: Act, to: (issue: number) => string): ReactNode {
  const { release } = details;
  switch (kind) {
    case "created":
      return release ? t("First report, from {release}", { release }) : t("First report");
    case "regressed":
      return release ? t("Came back in {release}", { release }) : t("Came back");
    case "unignored":
      return t("No longer ignored");
    case "reopened":
      return t("Reopened");
    case "resolved":
      if (!release) return t("Resolved");
      if (details.how === "nextRelease") return t("Resolved in the release after {release}", { release });
      return details.how === "commit" && details.commit?.id ?
        t("Resolved in {release} by commit {commit}", { release, commit: details.commit.id.slice(0, 8) }) :
        t("Resolved in {release}", { release });
    case "ignored": {
      const limits = [
        details.until && t("until {time}", { time: time(details.until) }),
        details.events && plural(details.events, "until {n} more report", "until {n} more reports"),
        details.users && plural(details.users, "until {n} more person", "until {n} more people")
      ].filter(Boolean);
      return [t("Ignored"), ...limits].join(", ");
    }
    case "assigned":
      return details.to ?
        t("Assigned to {name}", { name: nameOfAuthor("staff:", toName) }) :
        t("Assigned to nobody");
    case "merged":
      return t("Merged with {issues}", { issues: (details.issues ?? []).map((one) => "#" + one.number).join(", ") });
    case "parted": {
      const other = Number(details.to ?? details.from);
      return (
        <>
          {details.to !== undefined ? t("Some reports were split off:") : t("Split off from")}{" "}
          <Link to={to(other)}>#{other}</Link>
        </>
      );
    }
    default:
      return kind;
  }
}

interface Group {
  hash: string;
  events: number;
  message: string | null;
}

/** The server splits off at most as many at once. */
const maximumShown = 100;

/** Makes an issue of its own of those reports that do not belong to the others. */
export function SplitDialog({ number: issue, close }: { number: string; close: () => void }) {
  const place = usePlace();
  const list = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/crashes/issues/{issue}/hashes", given(place, { issue }))).body
        .data as Group[],
    [issue]
  );
  const [chosen, choose] = useState<Set<string | number>>(new Set());
  const toggle = (hash: string | number) => {
    const next = new Set(chosen);
    if (!next.delete(hash)) next.add(hash);
    choose(next);
  };
  const send = async () => {
    const made = await callIn(place, "POST /admin/apps/{app}/crashes/issues/{issue}/part", {
      path: { issue },
      body: { hashes: [...chosen].map(String) }
    });
    close();
    go(place.to("crashes/" + made.number));
    say(t("The reports you chose are an issue of their own now."));
  };
  return (
    <Dialog title={t("Split this issue")} close={close} isWide>
      <Show from={list} lines={3}>
        {(groups) =>
          groups.length < 2 ?
            (
              <Empty icon="crash" title={t("There is nothing to split")}>
                {t("All reports of this issue have the same calls or the same message.")}
              </Empty>
            ) :
            (
              <Form
                send={send}
                action={t("Split off")}
                cancel={close}
                isDisabled={chosen.size === 0 || chosen.size === groups.length}>
                <p className="soft">
                  {t("Choose the reports that have another cause. They become a new issue, and later ones like them too.")}
                </p>
                <Table
                  label={t("Kinds of reports")}
                  rows={groups.slice(0, maximumShown)}
                  id={(group) => group.hash}
                  selected={chosen}
                  select={toggle}
                  columns={[
                    {
                      name: "message",
                      title: t("Newest report"),
                      cell: (group) => (
                        <span title={group.message ?? undefined}>
                          {group.message?.split("\n")[0] ?? (
                            <span className="faint">{t("Its reports have expired")}</span>
                          )}
                        </span>
                      )
                    },
                    {
                      name: "hash",
                      title: t("Kind"),
                      width: "110px",
                      isExtra: true,
                      cell: (group) => <code className="soft">{group.hash.slice(0, 8)}</code>
                    },
                    {
                      name: "events",
                      title: t("Reports"),
                      width: "84px",
                      isNumber: true,
                      cell: (group) => number(group.events)
                    }
                  ]} />
                <p className="hint">
                  {t("A report may be in two of these rows: by the app's own calls, and by all calls.")}
                </p>
              </Form>
            )}
      </Show>
    </Dialog>
  );
}
