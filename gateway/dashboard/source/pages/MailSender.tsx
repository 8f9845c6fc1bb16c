// Who an app's mail comes from, and the mail server that sends it; with a test.

import { useState } from "react";
import type { Operations } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Button, Notice, Section, Show } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { Choice, errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { t } from "../text";

type Body = Operations["PUT /admin/apps/{app}/auth/mail"]["body"];
type TLS = NonNullable<Body["tls"]>;
type Sender = Omit<Body, "password"> & { available: boolean; hasPassword: boolean };

const fieldNames = ["name", "address", "host", "port", "tls", "user", "password"];

export function MailSender() {
  const place = usePlace();
  const sender = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/auth/mail") as unknown as Promise<Sender>,
    [place.app.id, place.environment]
  );
  return (
    <div className="stack-large">
      <Show from={sender}>
        {(data) => (
          <>
            {!data.available && (
              <Notice tone="warning">
                {t("No mail can be sent: neither the app nor the server has a mail server.")}
              </Notice>
            )}
            <Fields key={JSON.stringify(data)} stored={data} changed={sender.reload} />
          </>
        )}
      </Show>
      {place.may("notifications", "create") && <Test />}
    </div>
  );
}

function Fields({ stored, changed }: { stored: Sender; changed: () => void }) {
  const place = usePlace();
  const [values, setValues] = useState<Record<string, string>>({
    name: stored.name ?? "",
    address: stored.address ?? "",
    host: stored.host ?? "",
    port: stored.port ? String(stored.port) : "",
    user: stored.user ?? ""
  });
  const [tls, setTLS] = useState<TLS>(stored.tls ?? "starttls");
  const [problem, report] = useState<unknown>(undefined);
  const [dialog, ask] = useConfirm();
  const isReadOnly = !place.may("users", "update");
  const value = (name: string) => values[name]?.trim() || undefined;
  const field = (name: string, label: string, more: object = {}) => (
    <TextField
      label={label}
      value={values[name] ?? ""}
      change={(next) => setValues({ ...values, [name]: next })}
      isDisabled={isReadOnly}
      error={errorOf(name, problem)}
      {...more} />
  );
  const send = async () => {
    const port = value("port");
    const server = value("host") ?
      {
        host: value("host"),
        tls,
        user: value("user"),
        password: value("password"),
        ...(port ? { port: Number(port) } : {})
      } :
      {};
    await callIn(place, "PUT /admin/apps/{app}/auth/mail", {
      body: { name: value("name"), address: value("address"), ...server }
    });
    say(t("Saved"));
    changed();
  };
  const remove = () =>
    ask({
      title: t("Send from the operator's address?"),
      action: t("Remove the sender"),
      text: t("The app's own sender and mail server are removed."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/auth/mail");
        changed();
      }
    });
  return (
    <div className="form-page stack">
      <Form
        send={send}
        action={t("Save")}
        fields={fieldNames}
        report={report}
        isReadOnly={isReadOnly}
        extra={stored.address && place.may("users", "delete") ?
          <Button onPress={remove}>{t("Remove the sender")}</Button> :
          undefined}>
        <div className="pair">
          {field("name", t("Name of the sender"), { isOptional: true })}
          {field("address", t("Mail address"), { type: "email", isRequired: true })}
        </div>
        {field("host", t("Mail server"), {
          isOptional: true,
          isCode: true,
          placeholder: "smtp.example.org",
          hint: t("Without one, the operator's mail server sends the mail.")
        })}
        {value("host") && (
          <>
            <div className="pair">
              {field("port", t("Port"), { type: "number", isOptional: true })}
              <Choice
                label={t("Encryption")}
                value={tls}
                change={setTLS}
                isDisabled={isReadOnly}
                options={[
                  { value: "starttls", title: "STARTTLS" },
                  { value: "tls", title: "TLS" },
                  { value: "off", title: t("None") }
                ]} />
            </div>
            <div className="pair">
              {field("user", t("User name"), { isOptional: true })}
              {field("password", t("Password"), {
                type: "password",
                autoComplete: "new-password",
                isOptional: !stored.hasPassword,
                isRequired: stored.hasPassword && value("user") !== undefined,
                hint: stored.hasPassword ?
                  t("It is stored and never shown; enter it again with each change.") :
                  undefined
              })}
            </div>
          </>
        )}
      </Form>
      {dialog}
    </div>
  );
}

function Test() {
  const place = usePlace();
  const [to, setTo] = useState("");
  const [outcome, setOutcome] = useState<{ isSent?: boolean; reason?: string } | null>(null);
  const send = async () => {
    setOutcome(null);
    setOutcome(await callIn(place, "POST /admin/apps/{app}/notifications/mail/test", { body: { to } }));
  };
  return (
    <Section title={t("Send a test mail")}>
      <div className="form-page stack">
        <Form send={send} action={t("Send")} isDisabled={!to.trim()} fields={[]}>
          <TextField label={t("To")} type="email" value={to} change={setTo} />
        </Form>
        {outcome && (
          <Notice tone={outcome.isSent ? "good" : "bad"}>
            {outcome.isSent ? t("The mail server accepted it.") : t("It was not sent: {reason}", {
              reason: outcome.reason ?? "–"
            })}
          </Notice>
        )}
      </div>
    </Section>
  );
}
