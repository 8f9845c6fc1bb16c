// Texts of the mail about sign-up and sign-in, by kind and language. Those that an app does not have are built in.

import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Section, Show } from "../system/basics";
import { useLoad } from "../system/load";
import { own } from "../system/own";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { t, Text } from "../text";
import { SignInMailDialog } from "./SignInMailDialog";

export const mailKinds: Record<string, { title: Text; values: string[] }> = {
  "verify-email": { title: "Checks an address", values: ["code", "link", "duration", "minutes", "hours"] },
  "reset-password": { title: "Forgotten password", values: ["code", "link", "duration", "minutes", "hours"] },
  "sign-in": { title: "Sign-in by mail", values: ["code", "link", "duration", "minutes", "hours"] },
  "change-email": { title: "Checks a new address", values: ["code", "link", "duration", "minutes", "hours"] },
  "invitation": { title: "Invitation to sign up", values: ["code", "link", "duration", "minutes", "hours"] },
  "role-invitation": {
    title: "Invitation to a group",
    values: ["code", "link", "role", "duration", "minutes", "hours"]
  },
  "email-changed": { title: "The address was changed", values: ["newEmail", "time"] },
  "password-changed": { title: "The password was changed", values: ["time"] },
  "new-device": { title: "Sign-in from a new device", values: ["device", "time"] }
};

/** The server has texts of its own in these languages. */
const builtIn = ["en", "de"];

export function SignInMail() {
  const place = usePlace();
  const list = useLoad(
    async () =>
      (await callIn(place, "GET /admin/apps/{app}/auth/mail/templates")) as {
        data: { kind: string; language: string; subject: string }[];
      },
    [place.app.id, place.environment]
  );
  const [kind = "", language = ""] = (useAddress().query.get("open") ?? "").split("/");
  const edited = own(mailKinds, kind) && list.data ? { kind, language } : null;
  const edit = (next: { kind: string; language: string } | null) =>
    setQuery({ open: next ? next.kind + "/" + next.language : "" });
  return (
    <Section note={t("Your templates replace the built-in texts (English and German) of their kind and language.")}>
      <Show from={list} lines={8}>
        {({ data }) => (
          <Table
            label={t("Mail texts")}
            rows={Object.keys(mailKinds)}
            id={(kind) => kind}
            columns={[
              {
                name: "kind",
                title: t("Kind"),
                cell: (kind) => (
                  <span className="two-lines">
                    <span className="strong">{t(mailKinds[kind]?.title ?? "Mail")}</span>
                    <span className="faint">{kind}</span>
                  </span>
                )
              },
              {
                name: "languages",
                title: t("Languages"),
                cell: (kind) => (
                  <span className="row nowrap">
                    {languagesOf(kind, data).map(({ language, isOwn }) => (
                      <button
                        key={language}
                        type="button"
                        className="link"
                        aria-label={`${kind}, ${language}: ${isOwn ? t("own") : t("built in")}`}
                        onClick={() => edit({ kind, language })}>
                        <Badge tone={isOwn ? "accent" : "neutral"}>{language}</Badge>
                      </button>
                    ))}
                  </span>
                )
              },
              {
                name: "act",
                title: "",
                width: "56px",
                cell: (kind) =>
                  place.may("users", "update") && (
                    <Button
                      isSmall
                      icon="plus"
                      label={`${kind}: ${t("Add a language")}`}
                      onPress={() => edit({ kind, language: "" })} />
                  )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <SignInMailDialog
          key={edited.kind + edited.language}
          {...edited}
          isOwn={(list.data?.data ?? []).some((one) => one.kind === edited.kind && one.language === edited.language)}
          close={() => edit(null)}
          done={() => {
            edit(null);
            list.reload();
          }} />
      )}
    </Section>
  );
}

function languagesOf(kind: string, own: { kind: string; language: string }[]) {
  const languages = own.filter((one) => one.kind === kind).map((one) => one.language);
  return [...new Set([...builtIn, ...languages])].map((language) => ({
    language,
    isOwn: languages.includes(language)
  }));
}
