// The member's own account: password, second factor, sessions, language and look.

import { useState, useSyncExternalStore } from "react";
import { Answer, call } from "../api/client";
import { changePassword, readMember, session } from "../api/session";
import { chosenLook, setLook } from "../shell/App";
import { Badge, Button, Copy, Notice, PageHead, Section, Segmented, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, language, setLanguage, t } from "../text";

export function AccountPage() {
  const member = useSyncExternalStore(session.subscribe, session.member);
  const [look, setLookState] = useState(chosenLook());
  return (
    <div className="page">
      <PageHead title={t("Account and security")} note={member?.userName} />
      <div className="columns">
        <Section title={t("Appearance")}>
          <Segmented
            label={t("Appearance")}
            value={look}
            choose={(next) => {
              setLook(next);
              setLookState(next);
            }}
            options={[
              { name: "system", title: t("As the system") },
              { name: "light", title: t("Light") },
              { name: "dark", title: t("Dark") }
            ]} />
        </Section>
        <Section title={t("Language")}>
          <Segmented
            label={t("Language")}
            value={language}
            choose={setLanguage}
            options={[{ name: "en", title: "English" }, { name: "de", title: "Deutsch" }]} />
        </Section>
      </div>
      <SecondFactor isOn={member?.secondFactor ?? false} hasPassword={member?.hasPassword ?? true} />
      {member?.hasPassword === false ?
        (
          <Section
            title={t("Password")}
            note={t("You have none here, because you sign in at a provider. An administrator can set one.")} />
        ) :
        <Password />}
      <Sessions />
    </div>
  );
}

function Password() {
  const [password, setPassword] = useState("");
  const [next, setNext] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    await changePassword(password, next);
    setPassword("");
    setNext("");
    say(t("The password was changed. Other sessions have ended."));
  };
  return (
    <Section title={t("Password")}>
      <div className="form-page">
        <Form send={send} action={t("Change password")} fields={["password", "newPassword"]} report={report}>
          <TextField
            label={t("Current password")}
            type="password"
            value={password}
            change={setPassword}
            isRequired
            autoComplete="current-password"
            error={errorOf("password", problem)} />
          <TextField
            label={t("New password")}
            type="password"
            value={next}
            change={setNext}
            isRequired
            autoComplete="new-password"
            error={errorOf("newPassword", problem)} />
        </Form>
      </div>
    </Section>
  );
}

function SecondFactor({ isOn, hasPassword }: { isOn: boolean; hasPassword: boolean }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Section title={t("Second factor")} note={t("A code from an authenticator app, besides the password.")}>
      <div className="row">
        <Badge tone={isOn ? "good" : "warning"}>{isOn ? t("On") : t("Off")}</Badge>
        {hasPassword ?
          <Button onPress={() => setOpen(true)}>{isOn ? t("Turn off") : t("Turn on")}</Button> :
          <span className="faint">{t("You need a password for this.")}</span>}
      </div>
      {isOpen && (isOn ? <TurnOff close={() => setOpen(false)} /> : <TurnOn close={() => setOpen(false)} />)}
    </Section>
  );
}

function TurnOn({ close }: { close: () => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [secret, setSecret] = useState<Answer<"POST /admin/me/totp"> | null>(null);
  const [recovery, setRecovery] = useState<string[] | null>(null);
  const [problem, report] = useState<unknown>(undefined);
  const begin = async () => setSecret(await call("POST /admin/me/totp", { body: { password } }));
  const confirm = async () => {
    const answer = await call("POST /admin/me/totp/confirm", { body: { code: code.replace(/\s/g, "") } });
    setRecovery(answer.recoveryCodes);
    void readMember();
  };
  if (recovery) {
    return (
      <Dialog title={t("Recovery codes")} close={close}>
        <Notice tone="warning">
          {t("If you lose your device, each of these codes works once. They are shown only once.")}
        </Notice>
        <pre className="json-view">{recovery.join("\n")}</pre>
        <footer>
          <Copy text={recovery.join("\n")} />
          <Button kind="primary" onPress={close}>{t("I have stored them")}</Button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title={t("Turn on the second factor")} close={close}>
      {!secret ?
        (
          <Form send={begin} action={t("Continue")} cancel={close} fields={["password"]} report={report}>
            <TextField
              label={t("Password")}
              type="password"
              value={password}
              change={setPassword}
              autoFocus
              isRequired
              autoComplete="current-password"
              error={errorOf("password", problem)} />
          </Form>
        ) :
        (
          <Form send={confirm} action={t("Turn on")} cancel={close} fields={["code"]} report={report}>
            <p>{t("Add this key to your authenticator app, then type the code that it shows.")}</p>
            <span className="secret">
              <code>{secret.secret}</code>
              <Copy text={secret.secret} />
            </span>
            <a href={secret.uri}>{t("Open in an app on this device")}</a>
            <TextField
              label={t("Code")}
              value={code}
              change={setCode}
              autoFocus
              isRequired
              autoComplete="one-time-code"
              error={errorOf("code", problem)} />
          </Form>
        )}
    </Dialog>
  );
}

function TurnOff({ close }: { close: () => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    await call("DELETE /admin/me/totp", { body: { password, code: code.replace(/\s/g, "") } });
    await readMember();
    close();
  };
  return (
    <Dialog title={t("Turn off the second factor")} close={close}>
      <Form send={send} action={t("Turn off")} cancel={close} isDanger fields={["password", "code"]} report={report}>
        <TextField
          label={t("Password")}
          type="password"
          value={password}
          change={setPassword}
          autoFocus
          isRequired
          autoComplete="current-password"
          error={errorOf("password", problem)} />
        <TextField
          label={t("Code")}
          value={code}
          change={setCode}
          isRequired
          autoComplete="one-time-code"
          error={errorOf("code", problem)} />
      </Form>
    </Dialog>
  );
}

function Sessions() {
  const list = useLoad(() => call("GET /admin/sessions", {}), []);
  const end = async (id: string) => {
    await call("DELETE /admin/sessions/{id}", { path: { id } });
    list.reload();
  };
  const endOthers = async () => {
    await call("DELETE /admin/sessions", { query: { keep: "current" } });
    list.reload();
  };
  return (
    <Section title={t("Sessions")} actions={<Button onPress={endOthers}>{t("End all others")}</Button>}>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Sessions")}
            rows={found.data}
            id={(one) => one.id ?? ""}
            columns={[
              { name: "device", title: t("Device"), cell: (one) => one.device || t("unknown") },
              {
                name: "current",
                title: "",
                width: "130px",
                cell: (one) => one.current && <Badge tone="accent">{t("This one")}</Badge>
              },
              {
                name: "begun",
                title: t("Begun"),
                width: "150px",
                isExtra: true,
                cell: (one) => <span className="soft">{one.created && ago(one.created)}</span>
              },
              {
                name: "used",
                title: t("Last used"),
                width: "150px",
                cell: (one) => <span className="soft">{one.lastUsed && ago(one.lastUsed)}</span>
              },
              {
                name: "end",
                title: "",
                width: "90px",
                cell: (one) => !one.current && <Button isSmall onPress={() => end(one.id ?? "")}>{t("End")}</Button>
              }
            ]} />
        )}
      </Show>
    </Section>
  );
}
