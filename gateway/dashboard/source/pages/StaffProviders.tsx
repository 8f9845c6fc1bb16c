// GitHub and OpenID Connect providers through which staff sign in. Only administrators change them.

import { useState } from "react";
import type { IdentityProvider } from "../../generated/api";
import { call } from "../api/client";
import { companyOf, returnAddress } from "../api/providers";
import { session } from "../api/session";
import { Badge, Button, Copy, Empty, Menu, Section, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Choice, errorOf, Form, listOf, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { useOpened } from "../system/opened";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { t } from "../text";
import { kinds } from "./ProviderDialog";

type Kind = "github" | "google" | "oidc";

export function StaffProviders() {
  const list = useLoad(() => call("GET /admin/identity-providers", {}), []);
  const mayChange = session.member()?.isAdministrator ?? false;
  const [edited, edit] = useOpened<IdentityProvider>(mayChange ? list.data?.data : undefined, (one) => one.name);
  const [dialog, ask] = useConfirm();
  const remove = (provider: IdentityProvider) =>
    ask({
      title: t("Remove {name}?", { name: provider.name }),
      action: t("Remove"),
      text: t("Staff stay linked, but cannot sign in through it until it is set up again."),
      act: async () => {
        await call("DELETE /admin/identity-providers/{name}", { path: { name: provider.name } });
        list.reload();
      }
    });
  return (
    <Section
      note={t("Staff whose accounts there are linked sign in without a password of this server.")}
      actions={mayChange && <Button icon="plus" onPress={() => edit("new")}>{t("New provider")}</Button>}>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Providers")}
            rows={found.data}
            id={(one) => one.name}
            open={mayChange ? edit : undefined}
            empty={
              <Empty icon="keys" title={t("No providers yet")}>
                {t("Let staff sign in with GitHub, Google or the company's own OpenID Connect provider.")}
              </Empty>
            }
            columns={[
              { name: "name", title: t("Name"), cell: (one) => <span className="strong">{companyOf(one.name)}</span> },
              { name: "kind", title: t("Kind"), width: "150px", isExtra: true, cell: (one) => kinds[one.kind] },
              {
                name: "domains",
                title: t("Domains"),
                isExtra: true,
                cell: (one) => <span className="soft">{one.allowedDomains?.join(", ")}</span>
              },
              {
                name: "secret",
                title: t("Secret"),
                width: "110px",
                cell: (one) => one.hasSecret ? <Badge tone="good">{t("Stored")}</Badge> : <Badge>{t("none")}</Badge>
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (one) => (
                  <Menu
                    label={t("More about {name}", { name: one.name })}
                    items={[{ title: t("Remove"), isDanger: true, isHidden: !mayChange, act: () => remove(one) }]} />
                )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <ProviderDialog
          stored={edited === "new" ? null : edited}
          close={() => edit(null)}
          done={() => {
            edit(null);
            list.reload();
          }} />
      )}
      {dialog}
    </Section>
  );
}

function ProviderDialog(
  { stored, close, done }: { stored: IdentityProvider | null; close: () => void; done: () => void }
) {
  const [kind, setKind] = useState<Kind>((stored?.kind as Kind | undefined) ?? "github");
  const [name, setName] = useState(stored?.name ?? "github");
  const [clients, setClients] = useState(stored?.clientIDs.join("\n") ?? "");
  const [secret, setSecret] = useState("");
  const [issuer, setIssuer] = useState(stored?.issuer ?? "");
  const [domains, setDomains] = useState(stored?.allowedDomains?.join(" ") ?? "");
  const [callback, setCallback] = useState(stored?.callbackURL);
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    const redirects = new Set([...(stored?.redirectURLs ?? []), returnAddress]);
    const saved = await call("PUT /admin/identity-providers/{name}", {
      path: { name },
      body: {
        kind,
        clientIDs: listOf(clients),
        ...(secret ? { clientSecret: secret } : {}),
        ...(kind === "oidc" ? { issuer, allowedDomains: listOf(domains) } : {}),
        ...(stored?.scopes?.length ? { scopes: stored.scopes } : {}),
        ...(stored?.endpoints ? { endpoints: stored.endpoints } : {}),
        trustsEmail: stored?.trustsEmail ?? true,
        redirectURLs: [...redirects]
      }
    });
    say(t("Saved"));
    if (stored || !saved.callbackURL) done();
    else setCallback(saved.callbackURL);
  };
  if (!stored && callback) {
    return (
      <Dialog title={t("{name} is set up", { name: companyOf(name) })} close={done}>
        <p>{t("Give the provider this address:")}</p>
        <span className="secret">
          <code className="break">{callback}</code>
          <Copy text={callback} />
        </span>
        <p className="hint">{t("Then link members on their pages: only linked accounts can sign in.")}</p>
        <footer>
          <Button kind="primary" onPress={done}>{t("Done")}</Button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title={stored ? stored.name : t("New provider")} close={close} isWide>
      <Form
        send={send}
        action={t("Save")}
        cancel={close}
        report={report}
        fields={["name", "clientIDs", "clientSecret", "issuer", "allowedDomains"]}>
        {!stored && (
          <div className="pair">
            <Choice
              label={t("Kind")}
              value={kind}
              change={(next) => {
                // The kind is the default name.
                if (name === kind) setName(next);
                setKind(next);
              }}
              options={(["github", "google", "oidc"] as const).map((one) => ({ value: one, title: kinds[one] }))} />
            <TextField
              label={t("Name")}
              value={name}
              change={setName}
              isRequired
              isCode
              hint={t("Shown on the sign-in button.")}
              error={errorOf("name", problem)} />
          </div>
        )}
        <TextField
          label={t("Client ids")}
          value={clients}
          change={setClients}
          isRequired
          isCode
          lines={2}
          error={errorOf("clientIDs", problem)} />
        <TextField
          label={t("Client secret")}
          type="password"
          autoComplete="new-password"
          value={secret}
          change={setSecret}
          hint={stored?.hasSecret ? t("Leave it empty to keep the stored one.") : undefined}
          error={errorOf("clientSecret", problem)} />
        {kind === "oidc" && (
          <>
            <TextField
              label={t("Issuer")}
              type="url"
              value={issuer}
              change={setIssuer}
              isRequired
              placeholder="https://login.example.org"
              error={errorOf("issuer", problem)} />
            <TextField
              label={t("Domains whose people become members")}
              value={domains}
              change={setDomains}
              isOptional
              isCode
              placeholder="example.org"
              hint={t("Whoever has a verified address of such a domain becomes a member without rights.")}
              error={errorOf("allowedDomains", problem)} />
          </>
        )}
        {callback && (
          <p className="faint">
            {t("Give the provider this address:")} <code className="break">{callback}</code> <Copy text={callback} />
          </p>
        )}
      </Form>
    </Dialog>
  );
}
