// The gate: sign-in with password and second factor, the forced change of a password, and a session that has ended.

import { useEffect, useState } from "react";
import { setConfirmation } from "../api/client";
import { Problem } from "../api/problem";
import { companyOf, finish, leaveFor, listProviders, Returned, takeReturn } from "../api/providers";
import { changePassword, session, signIn, signOut } from "../api/session";
import { Button, explain, Notice } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Check, errorOf, Form, TextField } from "../system/form";
import { Logo } from "../system/icons";
import { lazy } from "../system/lazy";
import { useLoad } from "../system/load";
import { base, go } from "../system/router";
import { language, setLanguage, t } from "../text";

const ConfirmationForm = lazy(async () => (await import("./ConfirmationForm")).ConfirmationForm);

export function Gate({ mustReset, isExpired }: { mustReset?: boolean; isExpired?: boolean }) {
  const content = mustReset ? <NewPassword /> : <SignIn isExpired={isExpired} />;
  const card = (
    <div className="gate-card">
      <header>
        <Logo size={36} />
        <h1>
          {mustReset ? t("Choose a new password") : isExpired ? t("Your session has ended") : t("Sign in to Martlet")}
        </h1>
      </header>
      {content}
      <div className="gate-foot">
        {(["en", "de"] as const).filter((one) => one !== language).map((one) => (
          <Button
            key={one}
            kind="quiet"
            isSmall
            onPress={() => setLanguage(one)}>
            {one === "de" ? "Deutsch" : "English"}
          </Button>
        ))}
      </div>
    </div>
  );
  if (!isExpired) return <main className="gate">{card}</main>;
  return (
    <div className="gate over" role="dialog" aria-modal="true" aria-label={t("Your session has ended")}>{card}</div>
  );
}

function SignIn({ isExpired }: { isExpired?: boolean }) {
  const [userName, setUserName] = useState(session.member()?.userName ?? "");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [needsCode, setNeedsCode] = useState(false);
  const [stays, setStays] = useState(false);
  const { proof, failure, giveUp } = useReturn(() => setNeedsCode(true));
  const send = async () => {
    try {
      const factor = needsCode ? code.replace(/\s/g, "") : undefined;
      await (proof ? finish(proof, factor) : signIn(userName.trim(), password, factor, stays));
    } catch (error) {
      if (error instanceof Problem && error.code === "second-factor-required" && !needsCode) {
        setNeedsCode(true);
        return;
      }
      if (error instanceof Problem && error.code === "insecure") {
        throw new Problem(
          400,
          error.code,
          t("This browser keeps sessions over https only. Open the dashboard by https, or on the server itself."),
          "password"
        );
      }
      if (error instanceof Problem && error.status === 401) {
        const reason = needsCode ? t("Name, password or code is wrong.") : t("Name or password is wrong.");
        throw new Problem(400, error.code, reason, "password", error.requestId);
      }
      throw error;
    }
  };
  const [problem, report] = useState<unknown>(undefined);
  if (proof && !needsCode) return <Notice>{t("Signing in with {name}…", { name: companyOf(proof.provider) })}</Notice>;
  return (
    <Form
      send={send}
      action={needsCode ? t("Continue") : t("Sign in")}
      cancel={proof ?
        () => {
          giveUp();
          setNeedsCode(false);
        } :
        undefined}
      fields={["password"]}
      report={report}>
      {failure && <Notice tone="bad">{failure}</Notice>}
      {isExpired && <Notice>{t("Sign in again to continue where you were. Nothing on the page is lost.")}</Notice>}
      {!needsCode && (
        <>
          <TextField
            label={t("User name")}
            value={userName}
            change={setUserName}
            autoComplete="username"
            autoFocus={!userName}
            isRequired />
          <TextField
            label={t("Password")}
            type="password"
            value={password}
            change={setPassword}
            isRequired
            autoFocus={userName !== ""}
            autoComplete="current-password"
            error={errorOf("password", problem)} />
          <Check
            label={t("Stay signed in")}
            value={stays}
            change={setStays}
            hint={t("For 30 days instead of 12 hours.")} />
        </>
      )}
      {needsCode && (
        <TextField
          label={t("Code")}
          value={code}
          change={setCode}
          autoFocus
          isRequired
          autoComplete="one-time-code"
          hint={t("From your authenticator app, or one of your recovery codes.")}
          error={errorOf("password", problem)} />
      )}
      {!needsCode && <Elsewhere stays={stays} isExpired={isExpired} />}
    </Form>
  );
}

/** Completes the sign-in of a browser that comes back from a provider. */
export function useReturn(
  needCode: () => void
): { proof: Returned | null; failure: string | undefined; hasReturned: boolean; giveUp: () => void } {
  const [returned] = useState(takeReturn);
  const [proof, setProof] = useState(returned && "code" in returned ? returned : null);
  const [failure, setFailure] = useState(
    returned && "error" in returned ? t("The provider has not signed you in.") : undefined
  );
  useEffect(() => {
    if (returned) go(returned.path, { replace: true });
    if (!proof) return;
    finish(proof).catch((error) => {
      if (error instanceof Problem && error.code === "second-factor-required") return needCode();
      setProof(null);
      setFailure(
        error instanceof Problem && error.status === 401 ?
          t("Nobody here is linked to this account. Ask an administrator.") :
          explain(error).detail
      );
      return undefined;
    });
  }, []);
  return { proof, failure, hasReturned: returned !== null, giveUp: () => setProof(null) };
}

/** Buttons of the providers that an administrator has set up. */
function Elsewhere({ stays, isExpired }: { stays: boolean; isExpired?: boolean }) {
  const providers = useLoad(listProviders, []);
  if (!providers.data || providers.data.length === 0) return null;
  const path = location.pathname.slice(base.length) + location.search;
  return (
    <div className="stack" role="group" aria-label={t("Other ways to sign in")}>
      {isExpired && <p className="hint">{t("These leave the page: what is not saved is lost.")}</p>}
      {providers.data.map((name) => (
        <Button key={name} onPress={() => leaveFor(name, stays, path || "/")}>
          {t("Continue with {name}", { name: companyOf(name) })}
        </Button>
      ))}
    </div>
  );
}

function NewPassword() {
  const [password, setPassword] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const differs = again !== "" && next !== again;
  return (
    <Form
      action={t("Save and continue")}
      fields={["password", "newPassword"]}
      report={report}
      isDisabled={differs}
      send={() => changePassword(password, next)}
      extra={<Button kind="quiet" onPress={signOut}>{t("Sign out")}</Button>}>
      <p className="soft">
        {t("Replace the password you were given with one that only you know. Until then, you can do nothing else.")}
      </p>
      <TextField
        label={t("Password you were given")}
        type="password"
        value={password}
        change={setPassword}
        isRequired
        autoFocus
        autoComplete="current-password"
        error={errorOf("password", problem)} />
      <TextField
        label={t("New password")}
        type="password"
        value={next}
        change={setNext}
        isRequired
        autoComplete="new-password"
        error={errorOf("newPassword", problem)}
        hint={t("At least 8 characters, and not a common password.")} />
      <TextField
        label={t("Once more")}
        type="password"
        value={again}
        change={setAgain}
        isRequired
        autoComplete="new-password"
        error={differs ? t("The passwords are different.") : undefined} />
    </Form>
  );
}

/** Asks who it is before what cannot be undone, when the sign-in was long ago. */
export function Confirmation() {
  const [answer, setAnswer] = useState<{ give: (isConfirmed: boolean) => void } | null>(null);
  useEffect(() => setConfirmation(() => new Promise((resolve) => setAnswer({ give: resolve }))), []);
  if (!answer) return null;
  const end = (isConfirmed: boolean) => {
    setAnswer(null);
    answer.give(isConfirmed);
  };
  return (
    <Dialog title={t("Is it you?")} close={() => end(false)}>
      <ConfirmationForm end={end} />
    </Dialog>
  );
}
