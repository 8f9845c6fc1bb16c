// How people sign up and sign in to the app: rules, providers, passkeys, invitations, mail, other applications.

import { PageHead, Tabs } from "../system/basics";
import { lazy } from "../system/lazy";
import { setQuery, useAddress } from "../system/router";
import { t } from "../text";

const Clients = lazy(async () => (await import("./Clients")).Clients);
const Invitations = lazy(async () => (await import("./Invitations")).Invitations);
const MailSender = lazy(async () => (await import("./MailSender")).MailSender);
const Passkeys = lazy(async () => (await import("./Passkeys")).Passkeys);
const Providers = lazy(async () => (await import("./Providers")).Providers);
const SignInMail = lazy(async () => (await import("./SignInMail")).SignInMail);
const SignInRules = lazy(async () => (await import("./SignInRules")).SignInRules);

const tabs = ["rules", "providers", "passkeys", "invitations", "mail", "sender", "clients"] as const;

export function SignInSetupPage() {
  const { query } = useAddress();
  const tab = tabs.find((one) => one === query.get("tab")) ?? "rules";
  return (
    <div className="page">
      <PageHead
        title={t("Sign-in of users")}
        note={t("How people sign up and sign in to the app, in this environment.")} />
      <Tabs
        label={t("Views")}
        current={tab}
        choose={(next) => setQuery({ tab: next === "rules" ? "" : next })}
        tabs={[
          { name: "rules", title: t("Rules") },
          { name: "providers", title: t("Providers") },
          { name: "passkeys", title: t("Passkeys") },
          { name: "invitations", title: t("Invitations") },
          { name: "mail", title: t("Mail texts") },
          { name: "sender", title: t("Sender of mail") },
          { name: "clients", title: t("Other applications") }
        ]} />
      {tab === "rules" && <SignInRules />}
      {tab === "providers" && <Providers />}
      {tab === "passkeys" && <Passkeys />}
      {tab === "invitations" && <Invitations />}
      {tab === "mail" && <SignInMail />}
      {tab === "sender" && <MailSender />}
      {tab === "clients" && <Clients />}
    </div>
  );
}
