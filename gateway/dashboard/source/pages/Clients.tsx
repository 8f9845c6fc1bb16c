// Other applications that users of the app may sign in to (OpenID Connect).

import { useState } from "react";
import type { OAuthClient } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Menu, Section, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Check, Choice, errorOf, Form, listOf, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { useOpened } from "../system/opened";
import { Table } from "../system/table";
import { day, t } from "../text";
import { SecretDialog } from "./Hooks";

type Scope = OAuthClient["scopes"][number];
const scopeNames: Scope[] = ["openid", "profile", "email", "offline_access"];

export function Clients() {
  const place = usePlace();
  const list = useLoad(() => callIn(place, "GET /admin/apps/{app}/auth/clients"), [place.app.id, place.environment]);
  const [edited, edit] = useOpened<OAuthClient>(list.data?.data, (one) => one.id);
  const [secret, setSecret] = useState("");
  const [dialog, ask] = useConfirm();
  const renew = (client: OAuthClient) =>
    ask({
      title: t("A new secret?"),
      action: t("Make a new secret"),
      text: t("The old secret is refused at once."),
      act: async () => {
        const path = { id: client.id };
        setSecret((await callIn(place, "POST /admin/apps/{app}/auth/clients/{id}/secret", { path })).secret ?? "");
      }
    });
  const remove = (client: OAuthClient) =>
    ask({
      title: t("Delete {name}?", { name: client.name }),
      action: t("Delete"),
      text: t("Nobody can sign in to it from then on, and its tokens end at once."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/auth/clients/{id}", { path: { id: client.id } });
        list.reload();
      }
    });
  return (
    <Section
      note={t("After they agree, users of this app can sign in to them with their account.")}
      actions={place.may("users", "create") && (
        <Button icon="plus" onPress={() => edit("new")}>{t("New application")}</Button>
      )}>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Other applications")}
            rows={found.data ?? []}
            id={(one) => one.id}
            open={edit}
            empty={<Empty icon="apps" title={t("No other applications yet")} />}
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (one) => <button type="button" className="link" onClick={() => edit(one)}>{one.name}</button>
              },
              {
                name: "id",
                title: t("Client id"),
                width: "200px",
                isExtra: true,
                cell: (one) => (
                  <span className="row nowrap">
                    <code>{one.id.slice(0, 8)}…</code> <Copy text={one.id} />
                  </span>
                )
              },
              {
                name: "type",
                title: t("Kind"),
                width: "130px",
                isExtra: true,
                cell: (one) => <Badge>{one.type === "public" ? t("Public") : t("Confidential")}</Badge>
              },
              {
                name: "created",
                title: t("Created"),
                width: "140px",
                isExtra: true,
                cell: (one) => <span className="soft">{day(String(one.created))}</span>
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (one) => (
                  <Menu
                    label={t("More about {name}", { name: one.name })}
                    items={[
                      {
                        title: t("Make a new secret"),
                        isHidden: one.type === "public" || !place.may("users", "update"),
                        act: () => renew(one)
                      },
                      {
                        title: t("Delete"),
                        isDanger: true,
                        isHidden: !place.may("users", "delete"),
                        act: () => remove(one)
                      }
                    ]} />
                )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <ClientDialog
          stored={edited === "new" ? null : edited}
          close={() => edit(null)}
          done={(made) => {
            edit(null);
            setSecret(made.secret ?? "");
            list.reload();
          }} />
      )}
      {secret && (
        <SecretDialog
          title={t("The application's secret")}
          note={t("The application signs in with it. It is shown only once.")}
          secret={secret}
          close={() => setSecret("")} />
      )}
      {dialog}
    </Section>
  );
}

function ClientDialog(
  { stored, close, done }: { stored: OAuthClient | null; close: () => void; done: (made: OAuthClient) => void }
) {
  const place = usePlace();
  const isReadOnly = stored !== null && !place.may("users", "update");
  const [name, setName] = useState(stored?.name ?? "");
  const [type, setType] = useState<OAuthClient["type"]>(stored?.type ?? "confidential");
  const [addresses, setAddresses] = useState(stored?.redirectUris.join("\n") ?? "");
  const [afterwards, setAfterwards] = useState(stored?.postLogoutRedirectUris?.join("\n") ?? "");
  const [scopes, setScopes] = useState<Scope[]>(stored?.scopes ?? scopeNames);
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    const body = {
      name,
      redirectUris: listOf(addresses),
      postLogoutRedirectUris: listOf(afterwards),
      scopes: scopeNames.filter((one) => scopes.includes(one))
    };
    done(
      stored ?
        await callIn(place, "PUT /admin/apps/{app}/auth/clients/{id}", { path: { id: stored.id }, body }) :
        await callIn(place, "POST /admin/apps/{app}/auth/clients", { body: { ...body, type } })
    );
  };
  return (
    <Dialog title={stored?.name ?? t("New application")} close={close} isWide>
      <Form
        send={send}
        action={t("Save")}
        cancel={close}
        report={report}
        isReadOnly={isReadOnly}
        isDisabled={scopes.length === 0}
        fields={["name", "redirectUris", "postLogoutRedirectUris"]}>
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          isRequired
          autoFocus
          maximumLength={100}
          isDisabled={isReadOnly}
          hint={t("People see it when they are asked to agree.")}
          error={errorOf("name", problem)} />
        {!stored && (
          <Choice
            label={t("Kind")}
            value={type}
            change={setType}
            options={[
              { value: "confidential", title: t("Confidential: a server that keeps a secret") },
              { value: "public", title: t("Public: an app or a page in the browser") }
            ]} />
        )}
        <TextField
          label={t("Addresses that it returns to")}
          value={addresses}
          change={setAddresses}
          lines={3}
          isCode
          isRequired
          isDisabled={isReadOnly}
          placeholder="https://forum.example.org/signed-in"
          hint={t("One a line, exactly as the application sends them.")}
          error={errorOf("redirectUris", problem)} />
        <TextField
          label={t("Addresses after signing out")}
          value={afterwards}
          change={setAfterwards}
          lines={2}
          isCode
          isOptional
          isDisabled={isReadOnly}
          error={errorOf("postLogoutRedirectUris", problem)} />
        <fieldset className="stack">
          <legend className="strong">{t("It may ask for")}</legend>
          {scopeNames.map((one) => (
            <Check
              key={one}
              label={<code>{one}</code>}
              value={scopes.includes(one)}
              isDisabled={isReadOnly}
              change={(next) => setScopes(next ? [...scopes, one] : scopes.filter((other) => other !== one))} />
          ))}
        </fieldset>
      </Form>
    </Dialog>
  );
}
