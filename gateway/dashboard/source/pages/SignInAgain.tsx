// The window in which a signed-in member signs in again at a provider, while another window waits.

import { useEffect, useState, useSyncExternalStore } from "react";
import { Problem } from "../api/problem";
import { companyOf, endAgain, finish, leaveFor } from "../api/providers";
import { session, staysSignedIn } from "../api/session";
import { Button, explain, Notice } from "../system/basics";
import { errorOf, Form, TextField } from "../system/form";
import { Logo } from "../system/icons";
import { t } from "../text";
import { useReturn } from "./SignIn";

export function SignInAgain({ provider }: { provider: string }) {
  const [needsCode, setNeedsCode] = useState(false);
  const [code, setCode] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const [isAway, setAway] = useState<string | undefined>(undefined);
  const { proof, failure, hasReturned } = useReturn(() => setNeedsCode(true));
  const state = useSyncExternalStore(session.subscribe, session.state);
  const isDone = state === "open" || state === "mustReset";
  const leave = () => {
    setAway(undefined);
    return leaveFor(provider, staysSignedIn(), "/").catch((error) => setAway(explain(error).detail));
  };
  useEffect(() => {
    if (!hasReturned) void leave();
  }, []);
  useEffect(() => {
    if (isDone) endAgain();
  }, [isDone]);
  const send = async () => {
    if (!proof) return;
    try {
      await finish(proof, code.replace(/\s/g, ""));
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 401) throw error;
      throw new Problem(400, error.code, t("The code is wrong."), "code");
    }
  };
  const reason = failure ?? isAway;
  return (
    <main className="gate">
      <div className="gate-card">
        <header>
          <Logo size={36} />
          <h1>{t("Sign in again")}</h1>
        </header>
        {isDone ?
          <Notice tone="good">{t("You are signed in. You can close this window.")}</Notice> :
          needsCode ?
          (
            <Form send={send} action={t("Continue")} fields={["code"]} report={report}>
              <TextField
                label={t("Code")}
                value={code}
                change={setCode}
                autoFocus
                isRequired
                autoComplete="one-time-code"
                hint={t("From your authenticator app, or one of your recovery codes.")}
                error={errorOf("code", problem)} />
            </Form>
          ) :
          reason ?
          (
            <>
              <Notice tone="bad">{reason}</Notice>
              <Button onPress={leave}>{t("Try again")}</Button>
            </>
          ) :
          <Notice>{t("Signing in with {name}…", { name: companyOf(provider) })}</Notice>}
      </div>
    </main>
  );
}
