// Who may sign up, what mail they get, and where links in mail lead.

import { useState } from "react";
import type { Operations } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Show } from "../system/basics";
import { Check, errorOf, Form, listOf, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { t, Text } from "../text";

type Settings = Operations["PUT /admin/apps/{app}/auth/settings"]["body"];
type Switch = { [Name in keyof Settings]-?: Settings[Name] extends boolean | undefined ? Name : never }[keyof Settings];

const switches: Record<Switch, Text> = {
  inviteOnly: "People can sign up only with an invitation",
  requireVerifiedEmail: "People need a verified mail address to sign in",
  verifyOnSignUp: "A mail verifies the address of everyone who signs up",
  signUpByMail: "Signing in by mail with an unknown address creates an account",
  refuseDisposable: "Addresses of throw-away mail providers are refused",
  notices: "A mail tells people of new devices and of changes to their password or address"
};

export function SignInRules() {
  const place = usePlace();
  const settings = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/auth/settings") as Promise<Settings>,
    [place.app.id, place.environment]
  );
  return <Show from={settings} lines={8}>{(data) => <Fields stored={data} />}</Show>;
}

function Fields({ stored }: { stored: Settings }) {
  const place = usePlace();
  const [settings, set] = useState(stored);
  const [links, setLinks] = useState((stored.linkURLs ?? []).join("\n"));
  const [problem, report] = useState<unknown>(undefined);
  const isReadOnly = !place.may("users", "update");
  const send = async () => {
    await callIn(place, "PUT /admin/apps/{app}/auth/settings", { body: { ...settings, linkURLs: listOf(links) } });
    say(t("Saved"));
  };
  return (
    <div className="form-page stack">
      <Form
        send={send}
        action={t("Save")}
        fields={["linkURLs", "language", "mailsPerHour"]}
        report={report}
        isReadOnly={isReadOnly}>
        {(Object.keys(switches) as Switch[]).map((name) => (
          <Check
            key={name}
            label={t(switches[name])}
            value={settings[name] ?? false}
            isDisabled={isReadOnly}
            change={(next) => set({ ...settings, [name]: next })} />
        ))}
        <TextField
          label={t("Addresses that links in mail may lead to")}
          value={links}
          change={setLinks}
          lines={4}
          isCode
          isOptional
          isDisabled={isReadOnly}
          placeholder="https://example.org/open?kind={kind}&token={token}"
          hint={t("One a line, each with {token}. The first is used unless the app names another.")}
          error={errorOf("linkURLs", problem)} />
        <div className="pair">
          <TextField
            label={t("Language of mail, if the user's is not known")}
            value={settings.language ?? ""}
            change={(language) => set({ ...settings, language })}
            isCode
            isRequired
            isDisabled={isReadOnly}
            error={errorOf("language", problem)} />
          <TextField
            label={t("Maximum number of mails an hour")}
            type="number"
            value={String(settings.mailsPerHour ?? "")}
            change={(next) => set({ ...settings, mailsPerHour: Number(next) })}
            isRequired
            isDisabled={isReadOnly}
            error={errorOf("mailsPerHour", problem)} />
        </div>
      </Form>
    </div>
  );
}
