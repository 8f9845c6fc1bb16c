// Edits one rule, segment or template of push messages as JSON; tries a rule, counts a segment.

import { useState } from "react";
import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Button, Notice, Show, Tabs } from "../system/basics";
import { Dialog } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { JSONEditor, parse, pretty } from "../system/json";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { plural, t } from "../text";
import { SecretDialog } from "./Hooks";
import { Document, Kind, words } from "./PushDocuments";
import { RuleRuns, RuleTest } from "./PushRule";

/** What a new one begins with. */
const beginnings: Record<Kind, unknown> = {
  templates: { content: { title: "{{title}}", body: "{{text}}" } },
  segments: { audience: { platforms: ["ios"] } },
  rules: {
    when: { collection: "Orders", events: ["updated"] },
    where: { "object.state": "sent" },
    to: [{ field: "object.buyer" }],
    content: { title: "On its way", body: "{{object.number}}" }
  }
};

/** The members that people write; the others are the server's. */
const written: Record<Kind, (name: string) => boolean> = {
  templates: (name) => name === "content",
  segments: (name) => name === "audience",
  rules: (name) => !ofServer.has(name)
};
const ofServer = new Set(
  "name version author created updated next acted lastActed problem state since reason secret".split(" ")
);

interface Properties {
  kind: Kind;
  name: string;
  close: () => void;
  changed: () => void;
}

export function PushDocumentDialog(properties: Properties) {
  const { kind, name } = properties;
  const place = usePlace();
  const stored = useLoad(
    async () =>
      name ?
        (await request(`GET /admin/apps/{app}/notifications/${kind}/{name}`, given(place, { name }))).body as Document :
        null,
    [name]
  );
  const [tab, setTab] = useState<"text" | "test" | "runs">("text");
  return (
    <Dialog title={name || t(words[kind].add)} close={properties.close} isWide>
      {kind === "rules" && name && (
        <Tabs
          label={t("Views")}
          current={tab}
          choose={setTab}
          tabs={[
            { name: "text", title: t("Rule") },
            ...(place.may("notifications", "update") ? [{ name: "test" as const, title: t("Try") }] : []),
            { name: "runs", title: t("Runs") }
          ]} />
      )}
      {tab === "test" ?
        <RuleTest name={name} /> :
        tab === "runs" ?
        <RuleRuns name={name} /> :
        (
          <Show from={{ ...stored, data: stored.data === undefined ? undefined : { document: stored.data } }} lines={8}>
            {({ document }) => <Fields {...properties} stored={document} />}
          </Show>
        )}
    </Dialog>
  );
}

function Fields({ kind, name: storedName, stored, close, changed }: Properties & { stored: Document | null }) {
  const place = usePlace();
  const [name, setName] = useState(storedName);
  const [text, setText] = useState(() =>
    pretty(stored ? Object.fromEntries(Object.entries(stored).filter(([key]) => written[kind](key))) : beginnings[kind])
  );
  const [problem, report] = useState<unknown>(undefined);
  const [size, setSize] = useState<{ count: number; isExact: boolean } | null>(null);
  const [secret, setSecret] = useState("");
  const parsed = parse(text);
  const isReadOnly = !place.may("notifications", "update");
  const send = async () => {
    const path = given(place, { name });
    const answer = await request(`PUT /admin/apps/{app}/notifications/${kind}/{name}`, { ...path, body: parsed.value });
    say(t("Saved"));
    changed();
    if (typeof answer.body?.secret === "string") setSecret(answer.body.secret);
    else close();
  };
  const count = async () =>
    setSize((await request(`GET /admin/apps/{app}/notifications/${kind}/{name}/preview`, given(place, { name }))).body);
  return (
    <>
      {stored?.state === "stuck" && (
        <Notice tone="bad">{t("The rule cannot act: {reason}", { reason: stored.reason ?? "–" })}</Notice>
      )}
      <Form
        send={send}
        action={t("Save")}
        cancel={close}
        report={report}
        fields={["name"]}
        isReadOnly={isReadOnly}
        isDisabled={parsed.error !== undefined}
        extra={kind === "segments" && stored ? <Button onPress={count}>{t("Count devices")}</Button> : undefined}>
        {!stored && (
          <TextField
            label={t("Name")}
            value={name}
            change={setName}
            isRequired
            isCode
            autoFocus
            error={errorOf("name", problem)} />
        )}
        <JSONEditor label={t("JSON")} text={text} change={setText} isReadOnly={isReadOnly} />
        {size && (
          <Notice>
            {size.isExact ? "" : t("at least") + " "}
            {plural(size.count, "{n} device", "{n} devices")}
          </Notice>
        )}
      </Form>
      {secret && <SecretDialog title={t("The rule's secret")} secret={secret} close={close} />}
    </>
  );
}
