// Adds or changes a provider of identities. Its secret can be replaced, but not read.

import { useState } from "react";
import type { IdentityProvider, Operations } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Copy } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Check, Choice, errorOf, Form, listOf, TextField } from "../system/form";
import { say } from "../system/toast";
import { t } from "../text";

type Kind = IdentityProvider["kind"];
type Body = Operations["PUT /admin/apps/{app}/auth/providers/{name}"]["body"];

/** Names of companies, the same in every language. */
export const kinds: Record<Kind, string> = {
  apple: "Apple",
  google: "Google",
  github: "GitHub",
  facebook: "Facebook",
  oidc: "OpenID Connect"
};

const fieldNames = ["name", "clientIDs", "clientSecret", "privateKey", "teamID", "keyID", "issuer", "redirectURLs"];

/** The app key within the address to which a provider returns; the server answers with no other trace of it. */
const appKeyOf = (stored: IdentityProvider | null) =>
  /\/api\/([^/]+)\/auth\/oauth\/callback/.exec(stored?.callbackURL ?? "")?.[1] ?? "";

export function ProviderDialog(
  { stored, close, done }: { stored: IdentityProvider | null; close: () => void; done: () => void }
) {
  const place = usePlace();
  const isReadOnly = !place.may("users", "update");
  const [kind, setKind] = useState<Kind>(stored?.kind ?? "apple");
  const [trustsEmail, setTrustsEmail] = useState(stored?.trustsEmail ?? true);
  const [nonceRequired, setNonceRequired] = useState(stored?.nonceRequired ?? true);
  const [values, setValues] = useState<Record<string, string>>({
    name: stored?.name ?? "apple",
    clientIDs: stored?.clientIDs.join("\n") ?? "",
    issuer: stored?.issuer ?? "",
    scopes: stored?.scopes?.join(" ") ?? "",
    redirectURLs: stored?.redirectURLs?.join("\n") ?? "",
    appKey: appKeyOf(stored),
    teamID: stored?.teamID ?? "",
    keyID: stored?.keyID ?? ""
  });
  const [problem, report] = useState<unknown>(undefined);
  const value = (name: string) => values[name]?.trim() || undefined;
  const list = (name: string) => values[name]?.trim() ? listOf(values[name] ?? "") : undefined;
  const field = (name: string, label: string, more: object = {}) => (
    <TextField
      label={label}
      value={values[name] ?? ""}
      change={(next) => setValues({ ...values, [name]: next })}
      isCode
      isDisabled={isReadOnly}
      error={errorOf(name, problem)}
      {...more} />
  );
  const choose = (next: Kind) => {
    // The kind is the default name.
    if (!stored && values["name"] === kind) setValues({ ...values, name: next });
    setKind(next);
  };
  const send = async () => {
    const ofKind: Body = kind === "apple" ?
      { teamID: value("teamID"), keyID: value("keyID"), privateKey: value("privateKey") } :
      { clientSecret: value("clientSecret"), ...(kind === "oidc" ? { issuer: value("issuer") } : {}) };
    await callIn(place, "PUT /admin/apps/{app}/auth/providers/{name}", {
      path: { name: values["name"] ?? "" },
      body: {
        ...ofKind,
        kind,
        clientIDs: list("clientIDs") ?? [],
        scopes: list("scopes"),
        redirectURLs: list("redirectURLs"),
        appKey: value("appKey"),
        trustsEmail,
        nonceRequired,
        ...(stored?.endpoints ? { endpoints: stored.endpoints } : {})
      }
    });
    say(t("Saved"));
    done();
  };
  const keep = stored?.hasSecret ? t("Leave it empty to keep the stored one.") : undefined;
  return (
    <Dialog title={stored ? stored.name : t("New provider")} close={close} isWide>
      <Form
        send={send}
        action={t("Save")}
        cancel={close}
        report={report}
        fields={fieldNames}
        isReadOnly={isReadOnly}>
        {!stored && (
          <div className="pair">
            <Choice
              label={t("Kind")}
              value={kind}
              change={choose}
              options={(Object.keys(kinds) as Kind[]).map((one) => ({ value: one, title: kinds[one] }))} />
            {field("name", t("Name"), { isRequired: true, hint: t("The app names it when it signs somebody in.") })}
          </div>
        )}
        {field("clientIDs", t("Client ids"), {
          isRequired: true,
          lines: 2,
          hint: t("One a line: of the app on each system, and of the web.")
        })}
        {kind === "apple" ?
          (
            <>
              <div className="pair">
                {field("teamID", t("Team id"))}
                {field("keyID", t("Key id"))}
              </div>
              {field("privateKey", t("Contents of the key file"), {
                lines: 4,
                placeholder: "-----BEGIN PRIVATE KEY-----",
                hint: keep
              })}
            </>
          ) :
          field("clientSecret", t("Client secret"), { type: "password", autoComplete: "new-password", hint: keep })}
        {kind === "oidc" && field("issuer", t("Issuer"), { type: "url", placeholder: "https://login.example.org" })}
        <div className="pair">
          {field("scopes", t("Scopes"), { isOptional: true, placeholder: "openid email profile" })}
          {field("appKey", t("App key for sign-in in the browser"), { isOptional: true })}
        </div>
        {field("redirectURLs", t("Addresses that the browser may return to"), {
          lines: 2,
          isOptional: true,
          hint: t("One a line. Only these get the answer of a sign-in in the browser.")
        })}
        {stored?.callbackURL && (
          <p className="faint">
            {t("Give the provider this address:")} <code className="break">{stored.callbackURL}</code>{" "}
            <Copy text={stored.callbackURL} />
          </p>
        )}
        <Check
          label={t("Its mail addresses count as verified")}
          value={trustsEmail}
          change={setTrustsEmail}
          isDisabled={isReadOnly} />
        <Check
          label={t("Tokens from a device must have a nonce")}
          value={nonceRequired}
          change={setNonceRequired}
          isDisabled={isReadOnly}
          hint={t("Without one, somebody who steals a token in transit can use it.")} />
      </Form>
    </Dialog>
  );
}
