// A member's accounts at identity providers: linked by a verified mail address or the provider's own id.

import { useState } from "react";
import type { Staff } from "../../generated/api";
import { call } from "../api/client";
import { companyOf } from "../api/providers";
import { session } from "../api/session";
import { Badge, Button, Section, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Choice, errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { ago, t } from "../text";

export function StaffIdentities(
  { member, canUpdate, changed }: { member: Staff; canUpdate: boolean; changed: (member: Staff) => void }
) {
  const providers = useLoad(() => call("GET /admin/identity-providers", {}), []);
  const [isLinking, setLinking] = useState(false);
  const identities = member.identities ?? [];
  const free = (providers.data?.data ?? []).filter((one) =>
    !identities.some((identity) => identity.provider === one.name)
  );
  if (providers.data && identities.length === 0 && free.length === 0) return null;
  const unlink = async (provider: string) => {
    changed(
      await call("DELETE /admin/staff/{id}/identities/{provider}", { path: { id: member.id, provider } })
    );
    say(t("Removed"));
  };
  return (
    <Section
      title={t("Sign-in with other accounts")}
      actions={canUpdate && free.length > 0 && (
        <Button isSmall icon="plus" onPress={() => setLinking(true)}>{t("Link an account")}</Button>
      )}>
      <Show from={providers} lines={1}>
        {() => (
          <ul className="stack" aria-label={t("Sign-in with other accounts")}>
            {identities.map((one) => (
              <li key={one.provider} className="row">
                <span className="strong">{companyOf(one.provider ?? "")}</span>
                <span className="soft">{one.email ?? one.subject}</span>
                {one.lastUsed ?
                  <span className="faint">{t("last used {when}", { when: ago(one.lastUsed) })}</span> :
                  <Badge>{t("never used")}</Badge>}
                {canUpdate && <Button isSmall onPress={() => unlink(one.provider ?? "")}>{t("Remove")}</Button>}
              </li>
            ))}
          </ul>
        )}
      </Show>
      {isLinking && (
        <Link
          member={member}
          providers={free.map((one) => one.name)}
          close={() => setLinking(false)}
          done={(next) => {
            setLinking(false);
            changed(next);
          }} />
      )}
    </Section>
  );
}

function Link(
  { member, providers, close, done }: {
    member: Staff;
    providers: string[];
    close: () => void;
    done: (member: Staff) => void;
  }
) {
  const [provider, setProvider] = useState(providers[0] ?? "");
  const [email, setEmail] = useState(member.email ?? "");
  const [password, setPassword] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const isOwn = member.id === session.member()?.id;
  const send = async () => {
    done(
      await call("PUT /admin/staff/{id}/identities/{provider}", {
        path: { id: member.id, provider },
        body: { email, ...(isOwn ? { password } : {}) }
      })
    );
    say(t("Linked"));
  };
  return (
    <Dialog title={t("Link an account")} close={close}>
      <Form send={send} action={t("Link")} cancel={close} fields={["email", "password"]} report={report}>
        <Choice
          label={t("Provider")}
          value={provider}
          change={setProvider}
          options={providers.map((one) => ({ value: one, title: companyOf(one) }))} />
        <TextField
          label={t("Mail address there")}
          type="email"
          value={email}
          change={setEmail}
          isRequired
          hint={t("The first account that signs in with this verified address is linked.")}
          error={errorOf("email", problem)} />
        {isOwn && (
          <TextField
            label={t("Current password")}
            type="password"
            value={password}
            change={setPassword}
            isRequired
            autoComplete="current-password"
            error={errorOf("password", problem)} />
        )}
      </Form>
    </Dialog>
  );
}
