// Edits one rule, segment or template of push messages: rules and segments as a form or as JSON, templates as JSON. Tries
// a rule, counts a segment.

import { Ref, useRef, useState } from "react";
import { request } from "../api/client";
import { Problem } from "../api/problem";
import { given, usePlace } from "../shell/place";
import { Button, Notice, Show, Tabs } from "../system/basics";
import { Dialog } from "../system/dialog";
import { errorOf, Form, hasWrongText, TextField, wrongText } from "../system/form";
import { JSONEditor, parse, pretty } from "../system/json";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { plural, t } from "../text";
import { isRecord, Members, withMember } from "./flagRules";
import { SecretDialog } from "./Hooks";
import { pointerOf } from "./pointer";
import { AudienceFields } from "./PushAudience";
import { Document, Kind, words } from "./PushDocuments";
import { RuleRuns, RuleTest } from "./PushRule";
import { newRule, RuleFields, ruleFields } from "./PushRuleForm";
import { NotShown } from "./TypedInputs";

/** What a new one begins with. */
const beginnings: Record<Kind, unknown> = {
  templates: { content: { title: "{{title}}", body: "{{text}}" } },
  segments: { audience: { platforms: ["ios"] } },
  rules: newRule
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

type View = "form" | "json" | "test" | "runs";

/** The fields whose errors the form shows at their place. */
const formFields: Record<Kind, string[]> = {
  templates: [],
  segments: ["audience"],
  rules: ruleFields
};

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
  const [view, setView] = useState<View>(kind === "templates" ? "json" : "form");
  const fields = useRef<HTMLFieldSetElement | null>(null);
  const isChanged = useRef(false);
  const isAside = view === "test" || view === "runs";
  const close = () => {
    const isLost = isChanged.current || wrongText(fields.current) !== null;
    if (!isLost || window.confirm(t("There are unsaved changes. Leave anyway?"))) properties.close();
  };
  return (
    <Dialog title={name || t(words[kind].add)} close={close} isWide>
      {kind !== "templates" && (
        <Tabs<View>
          label={t("Views")}
          current={view}
          choose={(next) => hasWrongText(fields.current) || setView(next)}
          tabs={[
            { name: "form", title: kind === "rules" ? t("Rule") : t("Segment") },
            { name: "json", title: "JSON" },
            ...(kind === "rules" && name && place.may("notifications", "update") ?
              [{ name: "test" as const, title: t("Try") }] :
              []),
            ...(kind === "rules" && name ? [{ name: "runs" as const, title: t("Runs") }] : [])
          ]} />
      )}
      {view === "test" && <RuleTest name={name} />}
      {view === "runs" && <RuleRuns name={name} />}
      {/* What was changed stays while the rule is tried. */}
      <div hidden={isAside} className={isAside ? "" : "stack"}>
        <Show from={{ ...stored, data: stored.data === undefined ? undefined : { document: stored.data } }} lines={8}>
          {({ document }) => (
            <Fields {...properties} stored={document} leave={close} {...{ view, fields, isChanged }} />
          )}
        </Show>
      </div>
    </Dialog>
  );
}

function Fields(
  { kind, name: storedName, stored, close, leave, changed, view, fields, isChanged }: Properties & {
    stored: Document | null;
    leave: () => void;
    view: View;
    fields: Ref<HTMLFieldSetElement | null>;
    isChanged: Ref<boolean>;
  }
) {
  const place = usePlace();
  const [name, setName] = useState(storedName);
  const [first] = useState(() =>
    pretty(stored ? Object.fromEntries(Object.entries(stored).filter(([key]) => written[kind](key))) : beginnings[kind])
  );
  const [text, setText] = useState(first);
  const [problem, report] = useState<unknown>(undefined);
  const [size, setSize] = useState<{ count: number; isExact: boolean } | null>(null);
  const [secret, setSecret] = useState("");
  const parsed = parse(text);
  const shown = isRecord(parsed.value) ? parsed.value : undefined;
  const isReadOnly = !place.may("notifications", "update");
  const set = (next: string) => {
    isChanged.current = next !== first;
    setText(next);
  };
  const send = async () => {
    const path = given(place, { name });
    const answer = await request(`PUT /admin/apps/{app}/notifications/${kind}/{name}`, { ...path, body: parsed.value });
    say(t("Saved"));
    isChanged.current = false;
    changed();
    if (typeof answer.body?.secret === "string") setSecret(answer.body.secret);
    else close();
  };
  const count = async () =>
    setSize((await request(`GET /admin/apps/{app}/notifications/${kind}/{name}/preview`, given(place, { name }))).body);
  const field = problem instanceof Problem ? problem.field : undefined;
  // An error that names no place in the text is shown below it.
  const findings = problem instanceof Problem && field !== undefined && field !== "name" ?
    [{ severity: "error" as const, path: pointerOf(field), message: problem.detail }] :
    [];
  return (
    <>
      {stored?.state === "stuck" && (
        <Notice tone="bad">{t("The rule cannot act: {reason}", { reason: stored.reason ?? "–" })}</Notice>
      )}
      <Form
        send={send}
        action={t("Save")}
        cancel={leave}
        report={report}
        fields={view === "form" ? ["name", ...formFields[kind]] : field === undefined ? [] : [field]}
        isReadOnly={isReadOnly}
        isDisabled={parsed.error !== undefined || (view === "form" && !shown)}
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
        {view === "json" || kind === "templates" ?
          <JSONEditor label={t("JSON")} text={text} change={set} findings={findings} isReadOnly={isReadOnly} /> :
          shown ?
          (
            <fieldset ref={fields} className="stack-large" disabled={isReadOnly}>
              {kind === "rules" ?
                <RuleFields rule={shown} change={(next) => set(pretty(next))} problem={problem} /> :
                <SegmentFields segment={shown} change={(next) => set(pretty(next))} problem={problem} />}
            </fieldset>
          ) :
          <Notice tone="bad">{t("The JSON has an error. Fix it in the JSON tab first.")}</Notice>}
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

function SegmentFields(
  { segment, change, problem }: { segment: Members; change: (segment: Members) => void; problem: unknown }
) {
  const { audience = {}, ...rest } = segment;
  return (
    <>
      {isRecord(audience) ?
        (
          <AudienceFields
            audience={audience}
            change={(next) => change(withMember(segment, "audience", next))}
            problem={problem} />
        ) :
        <NotShown value={{ audience }} />}
      {Object.keys(rest).length > 0 && <NotShown value={rest} />}
    </>
  );
}
