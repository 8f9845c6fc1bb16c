// The composer: texts by language beside what a phone shows, the audience with its size, the time.

import { useEffect, useState } from "react";
import { Answer } from "../api/client";
import { Problem } from "../api/problem";
import { callIn, usePlace } from "../shell/place";
import { Badge, explain, Notice, PageHead, Refused, Section, Segmented } from "../system/basics";
import { Check, Choice, Form, TextField } from "../system/form";
import { useUnsaved } from "../system/json";
import { useLoad } from "../system/load";
import { go, setGuard } from "../system/router";
import { say } from "../system/toast";
import { number, t } from "../text";
import { Phone, Texts, TextsByLanguage } from "./PushTexts";

type Whom = "everyone" | "channel" | "users" | "segment";

export function ComposePage() {
  const place = usePlace();
  return place.may("notifications", "create") ? <Composer /> : (
    <div className="page">
      <Refused error={new Problem(403, "forbidden", t("Ask somebody who may send push messages."))} />
    </div>
  );
}

function Composer() {
  const place = usePlace();
  const [texts, setTexts] = useState<Record<string, Texts>>({ "": { title: "", body: "" } });
  const [language, setLanguage] = useState("");
  const [whom, setWhom] = useState<Whom>("everyone");
  const [names, setNames] = useState("");
  const [isLater, setLater] = useState(false);
  const [due, setDue] = useState("");
  const [isQuiet, setQuiet] = useState(true);
  const [isBadge, setBadge] = useState(false);
  const [problem, report] = useState<unknown>(undefined);
  const [key] = useState(() => crypto.randomUUID());
  const segments = useLoad(() => callIn(place, "GET /admin/apps/{app}/notifications/segments"), [
    place.app.id,
    place.environment
  ]);

  const base = texts[""] ?? { title: "", body: "" };
  const present = texts[language] ?? { title: "", body: "" };
  const set = (next: Partial<Texts>) => setTexts({ ...texts, [language]: { ...present, ...next } });
  const given = (one: Texts) => ({
    ...(one.title ? { title: one.title } : {}),
    ...(one.body ? { body: one.body } : {})
  });
  const localized = Object.fromEntries(
    Object.entries(texts).filter(([name, one]) => name && (one.title || one.body)).map((
      [name, one]
    ) => [name, given(one)])
  );
  const list = names.split(/[\s,]+/).filter(Boolean);
  const audience = whom === "everyone" ?
    { everyone: true } :
    whom === "channel" ?
    { channels: list } :
    whom === "users" ?
    { users: list } :
    { segment: names };
  const content = {
    ...given(base),
    ...(Object.keys(localized).length ? { localized } : {}),
    ...(isBadge ? { badge: "increment" as const } : {})
  };
  const hasAudience = whom === "everyone" || names.trim() !== "";
  const hasText = base.title.trim() !== "" || base.body.trim() !== "";
  useUnsaved(hasText);
  const preview = usePreview(content, audience, hasText && hasAudience);

  const send = async () => {
    const timing = isQuiet ? { quietHours: { from: "22:00", to: "07:00" } } : undefined;
    const message = (await callIn(place, "POST /admin/apps/{app}/notifications/messages", {
      body: {
        content,
        audience,
        ...(timing ? { timing } : {}),
        ...(isLater && due ? { due: new Date(due).toISOString() } : {})
      },
      headers: { "idempotency-key": key }
    })) as { id: string };
    say(isLater ? t("Scheduled") : t("On its way"));
    setGuard(null);
    go(place.to("push/" + message.id));
  };
  return (
    <div className="page">
      <PageHead title={t("New message")} back={{ to: place.to("push"), title: t("Push") }} />
      <div className="split">
        <Form
          send={send}
          action={isLater ? t("Schedule") : t("Send")}
          isDisabled={!hasText || !hasAudience}
          report={report}
          fields={["content.title", "content.body"]}>
          <Section title={t("Text")}>
            <TextsByLanguage
              languages={Object.keys(texts)}
              language={language}
              choose={setLanguage}
              add={(name) => setTexts({ ...texts, [name]: { title: "", body: "" } })}
              texts={present}
              change={set}
              problem={problem}
              focuses />
          </Section>
          <Section title={t("To whom")}>
            <Segmented<Whom>
              label={t("To whom")}
              value={whom}
              choose={(next) => {
                setWhom(next);
                setNames("");
              }}
              options={[
                { name: "everyone", title: t("Everybody") },
                { name: "channel", title: t("Channels") },
                { name: "users", title: t("People") },
                { name: "segment", title: t("Segment") }
              ]} />
            {whom === "channel" && (
              <TextField label={t("Channels")} value={names} change={setNames} isCode placeholder="news, sport" />
            )}
            {whom === "users" && (
              <TextField label={t("Ids of users")} value={names} change={setNames} isCode lines={2} />
            )}
            {whom === "segment" && (
              <Choice
                label={t("Segment")}
                value={names}
                change={setNames}
                options={[
                  { value: "", title: t("Choose…") },
                  ...(segments.data?.data ?? []).map((one) => ({ value: one.name ?? "", title: one.name ?? "" }))
                ]} />
            )}
          </Section>
          <Section title={t("When")}>
            <Check label={t("At a later time")} value={isLater} change={setLater} />
            {isLater && <TextField label={t("When")} type="datetime-local" value={due} change={setDue} isRequired />}
            <Check label={t("Wait from 22:00 to 07:00 in each device's time zone")} value={isQuiet} change={setQuiet} />
            <Check label={t("Count up the badge")} value={isBadge} change={setBadge} />
          </Section>
        </Form>
        <aside className="stack">
          <Phone title={present.title || base.title} body={present.body || base.body} />
          <Reach preview={preview} />
        </aside>
      </div>
    </div>
  );
}

type Preview = Answer<"POST /admin/apps/{app}/notifications/preview">;

function usePreview(content: object, audience: object, isReady: boolean): { answer?: Preview; error?: unknown } {
  const place = usePlace();
  const [state, setState] = useState<{ answer?: Preview; error?: unknown }>({});
  const asked = JSON.stringify({ content, audience });
  useEffect(() => {
    if (!isReady) {
      setState({});
      return;
    }
    let isCurrent = true;
    const timer = setTimeout(() => {
      callIn(place, "POST /admin/apps/{app}/notifications/preview", { body: JSON.parse(asked) }).then(
        (answer) => isCurrent && setState({ answer }),
        (error) => isCurrent && setState({ error })
      );
    }, 500);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [asked, isReady]);
  return state;
}

function Reach({ preview }: { preview: { answer?: Preview; error?: unknown } }) {
  if (preview.error !== undefined) return <Notice tone="warning">{explain(preview.error).detail}</Notice>;
  if (!preview.answer) return <p className="hint">{t("Write a text to see how many devices it reaches.")}</p>;
  const count = preview.answer.audience?.count ?? 0;
  const without = Object.values((preview.answer.withoutCredential ?? {}) as Record<string, unknown>).reduce<number>(
    (sum, one) => sum + (typeof one === "number" ? one : 0),
    0
  );
  return (
    <div className="stack">
      <p>
        <strong>{number(count)}</strong> {t("devices")}
        {preview.answer.audience?.isExact === false && <span className="faint">{" "}{t("(about)")}</span>}
      </p>
      {without > 0 && (
        <Notice tone="warning">{t("{n} devices need a push key that is not set up.", { n: without })}</Notice>
      )}
      {preview.answer.texts?.filter((one) => one.problem).map((one, index) => (
        <Notice key={index} tone="bad">{one.language}: {one.problem}</Notice>
      ))}
      <p className="row">
        {preview.answer.texts?.map((one, index) => <Badge key={index}>{one.language || "–"}</Badge>)}
      </p>
    </div>
  );
}
