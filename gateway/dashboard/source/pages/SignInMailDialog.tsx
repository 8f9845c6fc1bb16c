// One text of the mail about sign-up and sign-in: edited, previewed, or set back to the built-in one.

import { useState } from "react";
import type { Operations } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Button, Notice, sayProblem, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { t } from "../text";
import { mailKinds } from "./SignInMail";

type Template = Operations["PUT /admin/apps/{app}/auth/mail/templates/{kind}/{language}"]["body"];
interface Properties {
  kind: string;
  language: string;
  isOwn: boolean;
  close: () => void;
  done: () => void;
}

const exampleValues = {
  code: "482 913",
  minutes: "30",
  hours: "24",
  device: "Pixel 9",
  newEmail: "grace@example.net",
  role: "cyclists"
};

export function SignInMailDialog(given: Properties) {
  const { kind, language, isOwn } = given;
  const place = usePlace();
  const stored = useLoad(
    async (): Promise<Template> =>
      isOwn ?
        await callIn(place, "GET /admin/apps/{app}/auth/mail/templates/{kind}/{language}", {
          path: { kind, language }
        }) :
        {},
    [kind, language]
  );
  const title = t(mailKinds[kind]?.title ?? "Mail");
  return (
    <Dialog title={language ? `${title} · ${language}` : title} close={given.close} isWide>
      <Show from={stored}>{(template) => <Fields {...given} stored={template} />}</Show>
    </Dialog>
  );
}

function Fields({ kind, language: asked, isOwn, stored, close, done }: Properties & { stored: Template }) {
  const place = usePlace();
  const [language, setLanguage] = useState(asked);
  const [subject, setSubject] = useState(stored.subject ?? "");
  const [text, setText] = useState(stored.text ?? "");
  const [html, setHTML] = useState(stored.html ?? "");
  const [problem, report] = useState<unknown>(undefined);
  const [preview, setPreview] = useState<{ subject?: string; text?: string; html?: string } | null>(null);
  const isReadOnly = !place.may("users", "update");
  const ofKind = mailKinds[kind]?.values ?? [];
  const values = ["app", "email", ...ofKind];
  const path = { kind, language };
  const send = async () => {
    await callIn(place, "PUT /admin/apps/{app}/auth/mail/templates/{kind}/{language}", {
      path,
      body: { subject, text, ...(html ? { html } : {}) }
    });
    say(t("Saved"));
    done();
  };
  const reset = async () => {
    await callIn(place, "DELETE /admin/apps/{app}/auth/mail/templates/{kind}/{language}", { path });
    done();
    const undo = () =>
      callIn(place, "PUT /admin/apps/{app}/auth/mail/templates/{kind}/{language}", {
        path,
        body: { subject: stored.subject, text: stored.text, ...(stored.html ? { html: stored.html } : {}) }
      });
    say(t("The built-in text is used again."), { undo: () => void undo().then(done, sayProblem) });
  };
  const look = async () => {
    const examples: Record<string, string> = {
      ...exampleValues,
      link: "https://example.org/open?token=…",
      time: new Date().toUTCString()
    };
    const variables = Object.fromEntries(ofKind.map((one) => [one, examples[one] ?? one]));
    setPreview(
      await callIn(place, "POST /admin/apps/{app}/notifications/mail/preview", {
        body: { subject, text, ...(html ? { html } : {}), variables }
      })
    );
  };
  return (
    <Form
      send={send}
      action={t("Save")}
      cancel={close}
      report={report}
      isReadOnly={isReadOnly}
      fields={["language", "subject", "text", "html"]}
      extra={
        <>
          {isOwn && place.may("users", "delete") && <Button onPress={reset}>{t("Use the built-in text")}</Button>}
          {place.may("notifications", "read") && (
            <Button onPress={look} isDisabled={!subject || !text}>{t("Preview")}</Button>
          )}
        </>
      }>
      {!isOwn && asked && <Notice>{t("The built-in text is used. What you store here replaces it.")}</Notice>}
      {!asked && (
        <TextField
          label={t("Language tag")}
          value={language}
          change={setLanguage}
          isRequired
          isCode
          autoFocus
          placeholder="fr"
          error={errorOf("language", problem)} />
      )}
      <TextField
        label={t("Subject")}
        value={subject}
        change={setSubject}
        isRequired
        isDisabled={isReadOnly}
        error={errorOf("subject", problem)} />
      <TextField
        label={t("Text")}
        value={text}
        change={setText}
        isRequired
        isDisabled={isReadOnly}
        lines={8}
        hint={t("Values: {names}", { names: values.map((one) => `{{${one}}}`).join(" ") })}
        error={errorOf("text", problem)} />
      <TextField
        label={t("HTML version")}
        value={html}
        change={setHTML}
        isOptional
        isCode
        isDisabled={isReadOnly}
        lines={4}
        error={errorOf("html", problem)} />
      {preview && (
        <Notice>
          <strong>{preview.subject}</strong>
          <br />
          <span className="prose">{preview.text}</span>
        </Notice>
      )}
    </Form>
  );
}
