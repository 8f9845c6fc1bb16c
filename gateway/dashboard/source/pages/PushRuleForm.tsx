// A rule of push messages as a form: when it acts, whom it reaches, what it sends. What the form cannot show stays as it
// is; see docs/how-to/push-by-rules.md for the whole grammar.

import { useRef, useState } from "react";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Button, Section } from "../system/basics";
import { Check, Choice, errorOf, Select, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { own } from "../system/own";
import { t, Text } from "../text";
import { Conditions } from "./FlagConditions";
import {
  asItIs,
  flagGrammar,
  Grammar,
  isNumber,
  isRecord,
  isText,
  Members,
  onlyHas,
  pass,
  readPlain,
  withMember,
  without,
  writeWhen
} from "./flagRules";
import { AudienceFields } from "./PushAudience";
import { Phone, TextsByLanguage } from "./PushTexts";
import { Labelled, NamedLines, NamesField, NotShown, NumberField, useKeys, ValueInput, Wrong } from "./TypedInputs";

interface Part {
  rule: Members;
  change: (rule: Members) => void;
  problem: unknown;
}

/** Names to suggest. */
interface Known {
  collections: string[];
}

/** The facts of an event, besides `object.` and `previous.`. */
const factGrammar: Grammar = {
  ...flagGrammar,
  attributes: ["object.", "previous.", "changed", "change", "actor", "id", "collection", "at"],
  lists: ["changed"]
};

const shown = [
  "description",
  "enabled",
  "when",
  "where",
  "to",
  "except",
  "template",
  "variables",
  "content",
  "mail",
  "webhook",
  "limit",
  "expiresSeconds"
];

/** The server's fields whose errors the form shows at their place. */
export const ruleFields = [...shown, "audience"];

export function RuleFields({ rule, change, problem }: Part) {
  const rest = without(rule, shown);
  const part = { rule, change, problem };
  const collections = useCollections();
  return (
    <>
      <Trigger {...part} collections={collections} />
      <Filter {...part} />
      <ToWhom {...part} collections={collections} />
      <Message {...part} />
      <MailAndWebhook {...part} />
      <Limits {...part} />
      {Object.keys(rest).length > 0 && <NotShown value={rest} />}
    </>
  );
}

// When

type TriggerKind = "collection" | "every" | "cron" | "alert";

const triggerTitles: Record<TriggerKind, Text> = {
  collection: "when an object is written",
  every: "at fixed intervals",
  cron: "on a schedule",
  alert: "when a crash alert fires"
};
const newTriggers: Record<TriggerKind, Members> = {
  collection: { collection: "", events: ["created"] },
  every: { every: { minutes: 60 } },
  cron: { cron: "0 8 * * 1-5", timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone },
  alert: { alert: "crash" }
};
type Event = "created" | "updated" | "deleted";
const eventTitles: Record<Event, Text> = {
  created: "it is created",
  updated: "it is changed",
  deleted: "it is deleted"
};
const events = Object.keys(eventTitles) as Event[];

function triggerOf(when: unknown): TriggerKind | undefined {
  if (!isRecord(when)) return undefined;
  const { every } = when;
  if (onlyHas(when, ["collection", "events"]) && isText(when.collection)) {
    const list = when.events;
    return Array.isArray(list) && list.every((one) => events.includes(one)) ? "collection" : undefined;
  }
  if (onlyHas(when, ["every"]) && isRecord(every) && onlyHas(every, ["minutes"]) && isNumber(every.minutes)) {
    return "every";
  }
  if (onlyHas(when, ["cron", "timeZone"]) && isText(when.cron) && pass(when, ["timeZone"], isText)) return "cron";
  return onlyHas(when, ["alert"]) && when.alert === "crash" ? "alert" : undefined;
}

function Trigger({ rule, change, problem, collections }: Part & Known) {
  const { when } = rule;
  const kind = triggerOf(when);
  const set = (next: Members) => change({ ...rule, when: next });
  if (!kind || !isRecord(when)) {
    return (
      <Section title={t("When")}>
        <NotShown value={when} />
        <Wrong problem={problem} of={["when"]} />
      </Section>
    );
  }
  const chosen = kind === "collection" ? when.events as Event[] : [];
  return (
    <Section title={t("When")}>
      <div className="pair">
        <Choice
          label={t("Trigger")}
          value={kind}
          change={(next) => next !== kind && set(newTriggers[next])}
          options={(Object.keys(triggerTitles) as TriggerKind[]).map((one) => ({
            value: one,
            title: t(triggerTitles[one])
          }))} />
        {kind === "collection" && (
          <Labelled
            label={t("Collection")}
            error={errorOf("when.collection", problem)}
            control={(id) => (
              <ValueInput<string>
                id={id}
                label={t("Collection")}
                value={String(when.collection)}
                change={(collection) => set({ ...when, collection })}
                read={asItIs}
                write={asItIs}
                placeholder="Orders"
                words={collections}
                isRequired />
            )} />
        )}
        {kind === "every" && isRecord(when.every) && (
          <NumberField
            label={t("Minutes")}
            value={Number(when.every.minutes)}
            change={(minutes) => minutes !== undefined && set({ every: { minutes } })}
            least={1}
            most={40_320}
            isWhole
            isRequired />
        )}
        {kind === "cron" && (
          <>
            <TextField
              label={t("Times")}
              hint={t("Minute, hour, day, month, weekday: 0 8 * * 1-5 is 8:00 from Monday to Friday.")}
              value={String(when.cron)}
              change={(cron) => set({ ...when, cron })}
              isCode
              isRequired
              error={errorOf("when.cron", problem)} />
            <TextField
              label={t("Time zone")}
              value={String(own(when, "timeZone") ?? "")}
              change={(zone) => set(withMember(when, "timeZone", zone || undefined))}
              isCode
              isOptional
              placeholder="UTC"
              error={errorOf("when.timeZone", problem)} />
          </>
        )}
      </div>
      {kind === "collection" && (
        <fieldset>
          <legend className="strong">{t("Each time that")}</legend>
          <div className="row">
            {events.map((event) => (
              <Check
                key={event}
                label={t(eventTitles[event])}
                value={chosen.includes(event)}
                change={(isOn) =>
                  set({ ...when, events: events.filter((one) => (one === event ? isOn : chosen.includes(one))) })} />
            ))}
          </div>
        </fieldset>
      )}
      <Wrong problem={problem} of={["when"]} except={["when.collection", "when.cron", "when.timeZone"]} />
    </Section>
  );
}

function useCollections(): string[] {
  const place = usePlace();
  const list = useLoad(async () => {
    if (!place.may("storage", "read")) return [];
    const { data } = (await request("GET /admin/apps/{app}/collections", given(place))).body as {
      data: { name: string }[];
    };
    return data.map((one) => one.name).filter((name) => !name.startsWith("_"));
  }, [place.app.id, place.environment]);
  return list.data ?? [];
}

function Filter({ rule, change, problem }: Part) {
  const where = own(rule, "where") ?? undefined;
  const when = readPlain(where, factGrammar);
  return (
    <Section
      title={t("Only if")}
      note={t("object.state is a field of the object, previous.state what it was before. changed names the fields that differ.")}>
      {when ?
        (
          <Conditions
            when={when}
            change={(next) => change(withMember(rule, "where", writeWhen(next)))}
            grammar={factGrammar}
            title={t("Conditions")}
            empty={t("Always.")} />
        ) :
        <NotShown value={{ where }} />}
      <Wrong problem={problem} of={["where"]} />
    </Section>
  );
}

// To whom

type WhomKind = "people" | "audience" | "nobody";
type SourceKind = "field" | "related" | "user" | "channel" | "installation";

const sourceTitles: Record<SourceKind, Text> = {
  field: "the user named by a field",
  related: "the user named by another object's field",
  user: "one user",
  channel: "a channel",
  installation: "one installation"
};
const newSources: Record<SourceKind, Members> = {
  field: { field: "" },
  related: { field: "", of: { collection: "", id: "" } },
  user: { user: "" },
  channel: { channel: "" },
  installation: { installation: "" }
};

/** What a new rule begins with. It cannot be saved before the empty fields are filled. */
export const newRule: Members = { when: newTriggers.collection, to: [newSources.field], content: {} };

function sourceOf(source: unknown): SourceKind | undefined {
  if (!isRecord(source)) return undefined;
  const { of } = source;
  if (onlyHas(source, ["field", "of"]) && isText(source.field)) {
    if (own(source, "of") === undefined) return "field";
    const isRelated = isRecord(of) && onlyHas(of, ["collection", "id"]) && isText(of.collection) && isText(of.id);
    return isRelated ? "related" : undefined;
  }
  return (["user", "channel", "installation"] as const).find((one) => onlyHas(source, [one]) && isText(source[one]));
}

/** The audience that is the rule's only source. */
function audienceOf(to: unknown): Members | undefined {
  if (!Array.isArray(to) || to.length !== 1) return undefined;
  const [source] = to;
  return isRecord(source) && onlyHas(source, ["audience"]) && isRecord(source.audience) ? source.audience : undefined;
}

function ToWhom({ rule, change, problem, collections }: Part & Known) {
  const to = own(rule, "to") ?? undefined;
  const audience = audienceOf(to);
  const kind: WhomKind | undefined = to === undefined ?
    "nobody" :
    audience ?
    "audience" :
    Array.isArray(to) ?
    "people" :
    undefined;
  const set = (next: unknown) => change(withMember(rule, "to", next));
  // What was given before another choice, to come back to.
  const former = useRef<Partial<Record<WhomKind, unknown>>>({});
  const choose = (next: WhomKind) => {
    if (kind) former.current[kind] = { to, except: own(rule, "except") };
    const start = next === "people" ? [newSources.field] : next === "audience" ? [{ audience: {} }] : undefined;
    const kept = former.current[next] as Members | undefined;
    const changed = withMember(rule, "to", kept ? kept.to : start);
    change(withMember(changed, "except", kept ? kept.except : undefined));
  };
  return (
    <Section title={t("To whom")}>
      {kind ?
        (
          <Choice
            label={t("It reaches")}
            value={kind}
            change={(next) => next !== kind && choose(next)}
            options={[
              { value: "people", title: t("people of the object, named users, channels") },
              { value: "audience", title: t("an audience") },
              { value: "nobody", title: t("nobody by push") }
            ]} />
        ) :
        <NotShown value={{ to }} />}
      {kind === "people" && <Sources sources={to as unknown[]} change={set} collections={collections} />}
      {audience && (
        <AudienceFields
          audience={audience}
          change={(next) => set([{ audience: next }])}
          problem={problem}
          mayNameSegment />
      )}
      {kind === "people" && <Except {...{ rule, change, problem }} />}
      {kind !== "people" && own(rule, "except") !== undefined && <NotShown value={{ except: rule.except }} />}
      <Wrong problem={problem} of={["to", "except"]} except={kind === "people" ? ["except"] : []} />
    </Section>
  );
}

function Sources(
  { sources, change, collections }: Known & { sources: unknown[]; change: (sources: unknown[] | undefined) => void }
) {
  const rows = useKeys(sources.length);
  const set = (index: number, next: unknown) =>
    change(sources.map((one, place) => (place === index ? next : one)));
  const input = (
    label: string,
    value: unknown,
    put: (text: string) => void,
    placeholder?: string,
    words?: string[]
  ) => (
    <span className="grow">
      <ValueInput<string>
        label={label}
        value={String(value)}
        change={put}
        read={asItIs}
        write={asItIs}
        placeholder={placeholder}
        words={words}
        isCode
        isRequired />
    </span>
  );
  return (
    <>
      {sources.map((source, index) => {
        const kind = sourceOf(source);
        const n = index + 1;
        return (
          <div key={rows.keys[index]} className="toolbar" role="group" aria-label={t("Recipient {n}", { n })}>
            {kind && isRecord(source) ?
              (
                <>
                  <Select<SourceKind>
                    label={t("Kind of recipient")}
                    value={kind}
                    change={(next) => set(index, newSources[next])}
                    options={(Object.keys(sourceTitles) as SourceKind[]).map((one) => ({
                      value: one,
                      title: t(sourceTitles[one])
                    }))} />
                  {(kind === "field" || kind === "related") &&
                    input(
                      t("Field"),
                      source.field,
                      (field) => set(index, { ...source, field }),
                      kind === "field" ? "object.buyer" : "participants"
                    )}
                  {kind === "related" && isRecord(source.of) && (
                    <>
                      {input(
                        t("Collection"),
                        source.of.collection,
                        (collection) => set(index, { ...source, of: { ...source.of as Members, collection } }),
                        "Events",
                        collections
                      )}
                      {input(
                        t("Field with the id of the object"),
                        source.of.id,
                        (id) => set(index, { ...source, of: { ...source.of as Members, id } }),
                        "object.event"
                      )}
                    </>
                  )}
                  {(kind === "user" || kind === "channel" || kind === "installation") &&
                    input(
                      kind === "channel" ? t("Name of the channel") : t("Id"),
                      source[kind],
                      (text) => set(index, { [kind]: text })
                    )}
                </>
              ) :
              <div className="grow"><NotShown value={source} /></div>}
            <Button
              icon="trash"
              kind="quiet"
              isSmall
              label={t("Remove recipient {n}", { n })}
              onPress={() => {
                rows.remove(index);
                const left = sources.filter((_, place) => place !== index);
                change(left.length > 0 ? left : undefined);
              }} />
          </div>
        );
      })}
      <div>
        <Button icon="plus" isSmall onPress={() => change([...sources, newSources.field])}>
          {t("Add a recipient")}
        </Button>
      </div>
    </>
  );
}

function Except({ rule, change, problem }: Part) {
  const except = own(rule, "except") ?? undefined;
  const isUsual = except === undefined || (Array.isArray(except) && except.length === 1 && except[0] === "actor");
  const set = (next: unknown) => change(withMember(rule, "except", next));
  return isUsual ?
    (
      <Check
        label={t("Not to whoever made the change")}
        value={except !== undefined}
        change={(isOn) => set(isOn ? ["actor"] : undefined)} />
    ) :
    (
      <NamesField
        label={t("Not to these")}
        hint={t("Paths to users, such as actor or object.owner.")}
        value={except}
        change={set}
        error={errorOf("except", problem)} />
    );
}

// What it sends

type MessageKind = "content" | "template" | "none";

function Message({ rule, change, problem }: Part) {
  const place = usePlace();
  const content = own(rule, "content") ?? undefined;
  const template = own(rule, "template") ?? undefined;
  const kind: MessageKind = content !== undefined ? "content" : template !== undefined ? "template" : "none";
  const templates = useLoad(() => callIn(place, "GET /admin/apps/{app}/notifications/templates"), [
    place.app.id,
    place.environment
  ]);
  const known = templates.data?.data ?? [];
  const former = useRef<Members>({});
  const choose = (next: MessageKind) => {
    former.current = { ...former.current, ...rule };
    const rest = without(rule, ["content", "template", "variables"]);
    if (next === "content") change({ ...rest, content: former.current.content ?? {} });
    else if (next === "template") {
      const changed = { ...rest, template: former.current.template ?? known[0]?.name ?? "" };
      change(withMember(changed, "variables", former.current.variables));
    } else change(rest);
  };
  const isBoth = content !== undefined && template !== undefined;
  const isUsable = !isBoth && (content === undefined || isRecord(content)) && (template === undefined || isText(template));
  if (!isUsable) {
    return (
      <Section title={t("Message")}>
        <NotShown value={{ content, template, variables: rule.variables }} />
        <Wrong problem={problem} of={["content", "template", "variables"]} />
      </Section>
    );
  }
  const words = known.find((one) => one.name === template)?.variables;
  return (
    <Section
      title={t("Message")}
      note={t("{example} stands for a field of the object.", { example: "{{object.title}}" })}>
      <Choice
        label={t("It sends")}
        value={kind}
        change={(next) => next !== kind && choose(next)}
        options={[
          { value: "content", title: t("its own text") },
          { value: "template", title: t("a template") },
          { value: "none", title: t("no push message") }
        ]} />
      {isRecord(content) && (
        <Content content={content} change={(next) => change({ ...rule, content: next })} problem={problem} />
      )}
      {kind === "template" && (
        <Choice
          label={t("Template")}
          value={String(template)}
          change={(next) => change({ ...rule, template: next })}
          error={errorOf("template", problem)}
          options={[...new Set([...known.map((one) => one.name ?? ""), String(template)])].map((one) => ({
            value: one,
            title: one || t("Choose…")
          }))} />
      )}
      {(kind === "template" || own(rule, "variables") !== undefined) && (
        <Variables
          variables={own(rule, "variables") ?? undefined}
          change={(next) => change(withMember(rule, "variables", next))}
          words={Array.isArray(words) ? words : []} />
      )}
      <Wrong
        problem={problem}
        of={["content", "template", "variables"]}
        except={kind === "content" ? ["content.title", "content.body"] : kind === "template" ? ["template"] : []} />
    </Section>
  );
}

const contentShown = ["title", "body", "localized", "badge"];

function Content(
  { content, change, problem }: { content: Members; change: (content: Members) => void; problem: unknown }
) {
  const [language, setLanguage] = useState("");
  const [added, setAdded] = useState<string[]>([]);
  const localized = own(content, "localized") ?? {};
  const isUsable = pass(content, ["title", "body"], isText) && isRecord(localized) &&
    Object.values(localized).every((one) => isRecord(one) && pass(one, ["title", "body"], isText));
  const badge = own(content, "badge");
  const rest = without(content, contentShown);
  if (!isUsable || !isRecord(localized)) {
    return (
      <>
        <NotShown value={content} />
        <Wrong problem={problem} of={["content.title", "content.body"]} />
      </>
    );
  }
  const inLanguage = (language ? own(localized, language) ?? {} : content) as Members;
  const set = (part: Members) => {
    let next = inLanguage;
    for (const [name, text] of Object.entries(part)) next = withMember(next, name, text || undefined);
    if (!language) return change(next);
    // The tab stays while its texts are empty.
    if (!added.includes(language)) setAdded([...added, language]);
    const all = withMember(localized, language, Object.keys(next).length > 0 ? next : undefined);
    change(withMember(content, "localized", Object.keys(all).length > 0 ? all : undefined));
  };
  const text = (name: string, of: Members) => String(own(of, name) ?? "");
  return (
    <div className="split">
      <div className="stack">
        <TextsByLanguage
          languages={[...new Set(["", ...Object.keys(localized), ...added])]}
          language={language}
          choose={setLanguage}
          add={(name) => setAdded([...added, name])}
          texts={{ title: text("title", inLanguage), body: text("body", inLanguage) }}
          change={(part) => set({ ...part })}
          problem={problem} />
        {(badge === undefined || badge === "increment") && (
          <Check
            label={t("Count up the badge")}
            value={badge === "increment"}
            change={(isOn) => change(withMember(content, "badge", isOn ? "increment" : undefined))} />
        )}
        {badge !== undefined && badge !== "increment" && <NotShown value={{ badge }} />}
        {Object.keys(rest).length > 0 && <NotShown value={rest} />}
      </div>
      <aside>
        <Phone
          title={text("title", inLanguage) || text("title", content)}
          body={text("body", inLanguage) || text("body", content)} />
      </aside>
    </div>
  );
}

function Variables(
  { variables, change, words }: { variables: unknown; change: (variables: unknown) => void; words: string[] }
) {
  const all = variables ?? {};
  if (!isRecord(all) || !Object.values(all).every(isText)) return <NotShown value={{ variables }} />;
  const set = (next: Members) => change(Object.keys(next).length > 0 ? next : undefined);
  return (
    <NamedLines
      legend={t("Values of placeholders")}
      members={all}
      change={set}
      label={t("Name of a placeholder")}
      words={words}
      start={(name) => "{{object." + name + "}}"}
      show={(name, value, put) => (
        <ValueInput<string>
          label={t("Value of {name}", { name })}
          value={String(value)}
          change={put}
          read={asItIs}
          write={asItIs} />
      )} />
  );
}

function MailAndWebhook({ rule, change, problem }: Part) {
  const place = usePlace();
  const mail = own(rule, "mail") ?? undefined;
  const webhook = own(rule, "webhook") ?? undefined;
  const former = useRef<unknown>(undefined);
  const templates = useLoad(() => callIn(place, "GET /admin/apps/{app}/notifications/mail/templates"), [
    place.app.id,
    place.environment
  ]);
  const names = [...new Set((templates.data?.data ?? []).map((one) => one.name ?? ""))];
  const set = (name: string) => (value: unknown) => change(withMember(rule, name, value));
  const isPlainMail = mail === undefined || (isRecord(mail) && isText(mail.template) && pass(mail, ["topic"], isText));
  const rest = isRecord(mail) ? without(mail, ["template", "topic"]) : {};
  const isPlainHook = webhook === undefined ||
    (isRecord(webhook) && onlyHas(webhook, ["url"]) && isText(webhook.url));
  return (
    <Section title={t("Mail and webhook")}>
      {isPlainMail ?
        (
          <Check
            label={t("Also send mail")}
            hint={t("To the users above, by a mail template.")}
            value={mail !== undefined}
            change={(isOn) => {
              if (!isOn) former.current = mail;
              set("mail")(isOn ? former.current ?? { template: names[0] ?? "" } : undefined);
            }} />
        ) :
        <NotShown value={{ mail }} />}
      {isPlainMail && isRecord(mail) && (
        <div className="pair">
          <Labelled
            label={t("Mail template")}
            error={errorOf("mail.template", problem)}
            control={(id) => (
              <ValueInput<string>
                id={id}
                label={t("Mail template")}
                value={String(mail.template)}
                change={(template) => set("mail")({ ...mail, template })}
                read={asItIs}
                write={asItIs}
                words={names}
                isRequired />
            )} />
          <TextField
            label={t("Topic")}
            hint={t("People can unsubscribe from it.")}
            value={String(own(mail, "topic") ?? "")}
            change={(topic) => set("mail")(withMember(mail, "topic", topic || undefined))}
            isOptional
            error={errorOf("mail.topic", problem)} />
        </div>
      )}
      {isPlainMail && Object.keys(rest).length > 0 && <NotShown value={rest} />}
      <Wrong problem={problem} of={["mail"]} except={isPlainMail && mail ? ["mail.template", "mail.topic"] : []} />
      {isPlainHook ?
        (
          <TextField
            label={t("Address of a webhook")}
            hint={t("It is called as well. Its secret is shown once, after saving.")}
            type="url"
            value={isRecord(webhook) ? String(webhook.url) : ""}
            change={(url) => set("webhook")(url ? { url } : undefined)}
            isOptional
            placeholder="https://"
            error={errorOf("webhook", problem)} />
        ) :
        <NotShown value={{ webhook }} />}
      {!isPlainHook && <Wrong problem={problem} of={["webhook"]} />}
    </Section>
  );
}

function Limits({ rule, change, problem }: Part) {
  const limit = own(rule, "limit") ?? undefined;
  const expires = own(rule, "expiresSeconds") ?? undefined;
  const enabled = own(rule, "enabled") ?? undefined;
  const description = own(rule, "description") ?? undefined;
  const set = (name: string) => (value: unknown) => change(withMember(rule, name, value));
  const isPlain = limit === undefined ||
    (isRecord(limit) && onlyHas(limit, ["count", "seconds"]) && isNumber(limit.count) && isNumber(limit.seconds));
  const setPart = (name: string) => (value: number | undefined) =>
    isRecord(limit) && value !== undefined && set("limit")({ ...limit, [name]: value });
  const common = { least: 1, isWhole: true, isRequired: true };
  return (
    <Section title={t("Limits")}>
      {isPlain ?
        (
          <Check
            label={t("Own limit")}
            hint={t("Otherwise it acts at most 600 times a minute.")}
            value={limit !== undefined}
            change={(isOn) => set("limit")(isOn ? { count: 600, seconds: 60 } : undefined)} />
        ) :
        <NotShown value={{ limit }} />}
      {isPlain && isRecord(limit) && (
        <div className="pair">
          <NumberField
            label={t("At most how often")}
            value={Number(limit.count)}
            change={setPart("count")}
            most={100_000}
            {...common} />
          <NumberField
            label={t("within how many seconds")}
            value={Number(limit.seconds)}
            change={setPart("seconds")}
            most={86_400}
            {...common} />
        </div>
      )}
      {expires === undefined || isNumber(expires) ?
        (
          <NumberField
            label={t("Drop a message after how many seconds")}
            value={expires as number | undefined}
            change={set("expiresSeconds")}
            least={60}
            most={2_419_200}
            usual={86_400}
            isWhole />
        ) :
        <NotShown value={{ expiresSeconds: expires }} />}
      {description === undefined || isText(description) ?
        (
          <TextField
            label={t("Description")}
            value={String(description ?? "")}
            change={(text) => set("description")(text || undefined)}
            isOptional
            error={errorOf("description", problem)} />
        ) :
        <NotShown value={{ description }} />}
      {enabled === undefined || typeof enabled === "boolean" ?
        (
          <Check
            label={t("On")}
            value={enabled !== false}
            change={(isOn) => set("enabled")(isOn ? undefined : false)} />
        ) :
        <NotShown value={{ enabled }} />}
      <Wrong
        problem={problem}
        of={["limit", "expiresSeconds", "enabled", "description"]}
        except={description === undefined || isText(description) ? ["description"] : []} />
    </Section>
  );
}
