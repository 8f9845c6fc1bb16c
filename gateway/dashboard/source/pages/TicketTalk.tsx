// Comments on a ticket, and its history.

import { useState } from "react";
import type { TicketComment } from "../../generated/api";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Button, Show, Tabs } from "../system/basics";
import { Form, TextField } from "../system/form";
import { usePages } from "../system/load";
import { ago, t, time } from "../text";
import { nameOfAuthor } from "./authors";
import { initials } from "./Crashes";

interface Act {
  id: number;
  at: string;
  by: string;
  act: string;
  field: string | null;
  before: unknown;
  after: unknown;
}

export function Talk({ number, people }: { number: string; people: { id: string; name: string }[] }) {
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
        label={t("Talk")}
        current={tab}
        choose={setTab}
        tabs={[{ name: "comments", title: t("Comments") }, { name: "history", title: t("History") }]} />
      {tab === "history" ? <History number={number} nameOf={nameOf} /> : (
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

function History({ number, nameOf }: { number: string; nameOf: (by: string) => string }) {
  const place = usePlace();
  const list = usePages<Act>(
    async (after) =>
      (await request("GET /admin/apps/{app}/tickets/{ticket}/history", {
        ...given(place, { ticket: number }),
        query: { after, limit: 100 }
      })).body,
    [number]
  );
  const shown = (
    value: unknown
  ) => (value === null || value === undefined ?
    "–" :
    typeof value === "object" ?
    JSON.stringify(value) :
    String(value));
  return (
    <Show from={list} lines={3}>
      {(rows) => (
        <ol className="crumbs">
          {rows.map((act) => (
            <li key={act.id}>
              <span className="faint" title={time(act.at)}>{ago(act.at)}</span>
              <span>{nameOf(act.by)}</span>
              <span className="soft">
                {act.act}
                {act.field && <>{" "}{act.field}: {shown(act.before)} → {shown(act.after)}</>}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Show>
  );
}
