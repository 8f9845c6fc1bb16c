// Who is it? By the password, or by signing in again at a provider.

import { useEffect, useState } from "react";
import { Problem } from "../api/problem";
import { companyOf, listProviders, onAgain, openAgain } from "../api/providers";
import { confirmSession, readMember, session } from "../api/session";
import { Button, Notice, sayProblem } from "../system/basics";
import { errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { t } from "../text";

export function ConfirmationForm({ end }: { end: (isConfirmed: boolean) => void }) {
  const member = session.member();
  const hasPassword = member?.hasPassword ?? true;
  const linked = member?.identities ?? [];
  const providers = useLoad(
    async () =>
      linked.length > 0 ? (await listProviders()).filter((name) => linked.some((one) => one.provider === name)) : [],
    []
  );
  return (
    <>
      <p className="soft">
        {t("This needs a sign-in within the last ten minutes.")}{" "}
        {hasPassword ?
          t("Please enter your password again.") :
          t("You have no password here, so please sign in again at your provider.")}
      </p>
      {hasPassword && <Password end={end} />}
      {(providers.data?.length ?? 0) > 0 && <Providers names={providers.data ?? []} end={end} />}
      {!hasPassword && providers.data?.length === 0 && (
        <Notice tone="warning">
          {t("None of your providers is set up any more. Ask an administrator for a password.")}
        </Notice>
      )}
    </>
  );
}

function Password({ end }: { end: (isConfirmed: boolean) => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const hasFactor = session.member()?.secondFactor ?? false;
  const send = async () => {
    try {
      await confirmSession(password, hasFactor ? code.replace(/\s/g, "") : undefined);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 401) throw error;
      throw new Problem(400, error.code, t("Password or code is wrong."), "password");
    }
    end(true);
  };
  return (
    <Form send={send} action={t("Confirm")} cancel={() => end(false)} fields={["password"]} report={report}>
      <TextField
        label={t("Password")}
        type="password"
        value={password}
        change={setPassword}
        isRequired
        autoFocus
        autoComplete="current-password"
        error={errorOf("password", problem)} />
      {hasFactor && (
        <TextField label={t("Code")} value={code} change={setCode} isRequired autoComplete="one-time-code" />
      )}
    </Form>
  );
}

function Providers({ names, end }: { names: string[]; end: (isConfirmed: boolean) => void }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const before = session.member()?.id;
    return onAgain(() => {
      readMember().then(() => {
        const now = session.member();
        // At the provider, they may have been somebody else.
        if (now && now.id !== before) say(t("You are signed in as {name} now.", { name: now.userName }));
        end(now?.id === before);
      }, sayProblem);
    });
  }, []);
  const open = (name: string) => {
    if (openAgain(name)) setOpen(true);
    else say(t("The browser has blocked the window. Allow it, and try again."), { tone: "bad" });
  };
  return (
    <div className="stack" role="group" aria-label={t("Other ways to sign in")}>
      {names.map((name) => (
        <Button key={name} onPress={() => open(name)}>{t("Continue with {name}", { name: companyOf(name) })}</Button>
      ))}
      <p className="hint">
        {isOpen ?
          t("Sign in in the window that has opened. Then this page continues.") :
          t("A window opens for it. This page stays as it is.")}
      </p>
    </div>
  );
}
