// Tries a rule of push messages without sending anything, and shows what it did.

import { useState } from "react";
import { callIn, usePlace } from "../shell/place";
import { Badge, Empty, Notice, Show, Tone } from "../system/basics";
import { Form } from "../system/form";
import { JSONEditor, JSONView, parse, pretty } from "../system/json";
import { usePages } from "../system/load";
import { Table } from "../system/table";
import { ago, t, time } from "../text";

interface Trial {
  matches: boolean;
  reason?: string;
  [member: string]: unknown;
}

export function RuleTest({ name }: { name: string }) {
  const place = usePlace();
  const [text, setText] = useState(pretty({ object: {}, change: "created" }));
  const [trial, setTrial] = useState<Trial | null>(null);
  const parsed = parse(text);
  const send = async () => {
    const answer = await callIn(place, "POST /admin/apps/{app}/notifications/rules/{name}/test", {
      path: { name },
      body: parsed.value as object
    });
    setTrial(answer as Trial);
  };
  return (
    <>
      <p className="note">{t("Nothing is sent. Give an object as it would be written, or the id of a stored one.")}</p>
      <Form send={send} action={t("Try")} isDisabled={parsed.error !== undefined}>
        <JSONEditor label={t("What happens")} text={text} change={setText} lines={10} />
      </Form>
      {trial && (
        <Notice tone={trial.matches ? "good" : "neutral"}>
          {trial.matches ? t("The rule matches.") : t("The rule does not match.")} {trial.reason}
        </Notice>
      )}
      {trial?.matches && <JSONView value={trial} />}
    </>
  );
}

interface Run {
  at: string;
  outcome: string;
  detail?: string;
  [member: string]: unknown;
}

const tones: Record<string, Tone> = {
  acted: "good",
  failed: "bad",
  limited: "warning",
  loop: "bad",
  expired: "warning"
};

export function RuleRuns({ name }: { name: string }) {
  const place = usePlace();
  const list = usePages<Run>(
    (before) =>
      callIn(place, "GET /admin/apps/{app}/notifications/rules/{name}/runs", {
        path: { name },
        query: { before, limit: 50 }
      }),
    [name]
  );
  return (
    <Show from={list}>
      {(rows) => (
        <Table
          label={t("Runs")}
          rows={rows.map((one, index) => ({ ...one, index }))}
          id={(one) => one.index}
          hasMore={list.hasMore}
          more={list.more}
          empty={<Empty icon="clock" title={t("It has not run yet")} />}
          columns={[
            {
              name: "at",
              title: t("When"),
              width: "140px",
              cell: (one) => <span className="soft" title={time(one.at)}>{ago(one.at)}</span>
            },
            {
              name: "outcome",
              title: t("What happened"),
              width: "130px",
              cell: (one) => <Badge tone={tones[one.outcome] ?? "neutral"}>{one.outcome}</Badge>
            },
            { name: "detail", title: t("Reason"), cell: (one) => <span title={one.detail}>{one.detail}</span> }
          ]} />
      )}
    </Show>
  );
}
