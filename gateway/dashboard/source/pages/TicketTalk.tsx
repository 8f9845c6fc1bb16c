// Comments on a ticket, and its history.

import { useState } from "react";
import type { TicketComment } from "../../generated/api";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Button, Show, Tabs } from "../system/basics";
import { Form, TextField } from "../system/form";
import { usePages } from "../system/load";
import { own } from "../system/own";
import { ago, t, Text, time } from "../text";
import { nameOfAuthor } from "./authors";
import { initials } from "./Crashes";
import { priorities, statuses, types } from "./TicketWords";

const acts: Record<string, Text> = {
  created: "created",
  changed: "changed",
  deleted: "deleted",
  restored: "restored",
  commented: "commented",
  commentEdited: "comment changed",
  commentDeleted: "comment deleted",
  attached: "file attached",
  detached: "file removed",
  issueAttached: "crash attached",
  issueDetached: "crash removed",
  issuesResolved: "crashes resolved",
  linked: "link added",
  unlinked: "link removed",
  mendedByCommit: "fixed by a commit"
};

const fields: Record<string, Text> = {
  type: "Type",
  status: "Status",
  priority: "Priority",
  title: "Title",
  description: "Description",
  assignee: "Assignee",
  appVersion: "Version",
  sprint: "Sprint",
  labels: "Labels",
  estimate: "Estimate"
};

const values: Record<string, Record<string, Text>> = { type: types, status: statuses, priority: priorities };

interface Act {
  id: number;
  at: string;
  by: string;
  act: string;
  field: string | null;
  before: unknown;
  after: unknown;
}

interface TalkInput {
  number: string;
  /** Of the ticket. The history is read again when it changes. */
  revision: string | null | undefined;
  people: { id: string; name: string }[];
}

export function Talk({ number, revision, people }: TalkInput) {
  const place = usePlace();
  const [tab, setTab] = useState<"comments" | "history">("comments");
  const comments = usePages<TicketComment>(
    (after) =>
      callIn(place, "GET /admin/apps/{app}/tickets/{ticket}/comments", {
        path: { ticket: number },
        query: { after, limit: 50 }
      }),
    [number]
  );
  const [text, setText] = useState("");
  const nameOf = (by: string | undefined) =>
    nameOfAuthor(by, people.find((one) => "staff:" + one.id === by)?.name);
  const send = async () => {
    await callIn(place, "POST /admin/apps/{app}/tickets/{ticket}/comments", {
      path: { ticket: number },
      body: { text }
    });
    setText("");
    comments.reload();
  };
  return (
    <div className="stack">
      <Tabs
        label={t("Discussion")}
        current={tab}
        choose={setTab}
        tabs={[{ name: "comments", title: t("Comments") }, { name: "history", title: t("History") }]} />
      {tab === "history" ? <History number={number} revision={revision} nameOf={nameOf} /> : (
        <>
          <Show from={comments} lines={2}>
            {(rows) =>
              rows.length === 0 ? <p className="faint">{t("No comments yet.")}</p> : (
                <div>
                  {rows.map((comment) => (
                    <article className="comment" key={comment.number}>
                      <header>
                        <span className="avatar">{initials(nameOf(comment.by))}</span>
                        <strong>{nameOf(comment.by)}</strong>
                        <span className="faint" title={comment.created && time(comment.created)}>
                          {comment.created && ago(comment.created)}
                        </span>
                      </header>
                      <p className="prose">{comment.text}</p>
                    </article>
                  ))}
                </div>
              )}
          </Show>
          {comments.hasMore && (
            <div>
              <Button isSmall onPress={comments.more}>{t("Show more")}</Button>
            </div>
          )}
          {place.may("tickets", "update") && (
            <Form send={send} action={t("Comment")} isDisabled={!text.trim()}>
              <TextField label={t("Comment")} value={text} change={setText} lines={3} />
            </Form>
          )}
        </>
      )}
    </div>
  );
}

interface HistoryInput extends Pick<TalkInput, "number" | "revision"> {
  nameOf: (by: string) => string;
}

function History({ number, revision, nameOf }: HistoryInput) {
  const place = usePlace();
  const list = usePages<Act>(
    async (after) =>
      (await request("GET /admin/apps/{app}/tickets/{ticket}/history", {
        ...given(place, { ticket: number }),
        query: { after, limit: 100 }
      })).body,
    [number, revision]
  );
  const shown = (field: string, value: unknown): string => {
    if (value === null || value === undefined) return "–";
    if (typeof value === "object") return JSON.stringify(value);
    if (field === "assignee") return nameOf("staff:" + value);
    const titles: Record<string, Text> = own(values, field) ?? {};
    const title = own(titles, String(value));
    return title ? t(title) : String(value);
  };
  const words = ({ act, field, before, after }: Act): string => {
    const title = own(acts, act);
    const verb = title ? t(title) : act;
    if (!field) return verb;
    const name = own(fields, field);
    return `${verb} ${name ? t(name) : field}: ${shown(field, before)} → ${shown(field, after)}`;
  };
  return (
    <Show from={list} lines={3}>
      {(rows) => (
        <ol className="crumbs">
          {rows.map((act) => (
            <li key={act.id}>
              <span className="faint" title={time(act.at)}>{ago(act.at)}</span>
              <span>{nameOf(act.by)}</span>
              <span className="soft">{words(act)}</span>
            </li>
          ))}
        </ol>
      )}
    </Show>
  );
}
