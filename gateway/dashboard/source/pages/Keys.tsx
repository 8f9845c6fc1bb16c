// Keys of an app.

import { useState } from "react";
import type { Key } from "../../generated/api";
import { Answer } from "../api/client";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Menu, Notice, Section, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Choice, errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { ago, t, Text } from "../text";

const kinds: Record<Key["kind"], { title: Text; about: Text }> = {
  client: { title: "App key", about: "Names app and environment in the address. Grants nothing by itself." },
  secret: { title: "Secret", about: "Ships inside the app; lets clients call the API. Rules decide what they may do." },
  master: {
    title: "Master key",
    about: "For your own servers: allows everything in this app, but only from networks that you allow."
  },
  ingest: { title: "Ingest key", about: "Only sends events and crash reports." },
  evaluation: { title: "Evaluation key", about: "Only asks for flags, with any OpenFeature SDK." }
};

export function Keys() {
  const place = usePlace();
  const list = useLoad(() => callIn(place, "GET /admin/apps/{app}/keys", { query: { revoked: false } }), [
    place.app.id
  ]);
  const [isNew, setNew] = useState(false);
  const [shown, setShown] = useState<Answer<"POST /admin/apps/{app}/keys"> | null>(null);
  const [dialog, ask] = useConfirm();
  const rotate = (key: Key) =>
    ask({
      title: t("Rotate this key?"),
      action: t("Rotate"),
      isDanger: false,
      text: t(
        "A new key of the same kind is created. The old one works for one more day, so that you can replace it without an outage."
      ),
      act: async () => {
        setShown(await callIn(place, "POST /admin/apps/{app}/keys/{id}/rotate", { path: { id: key.id }, body: {} }));
        list.reload();
      }
    });
  const revoke = (key: Key) =>
    ask({
      title: t("Revoke this key?"),
      action: t("Revoke"),
      typed: key.hint,
      text: t("Whoever uses it is refused within two seconds. This cannot be undone."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/keys/{id}", { path: { id: key.id } });
        list.reload();
      }
    });
  return (
    <Section
      note={t("Keys are stored as hashes: a key is shown only once, when it is created.")}
      actions={place.may("applications", "update") && (
        <Button
          kind="primary"
          icon="plus"
          onPress={() => setNew(true)}>
          {t("New key")}
        </Button>
      )}>
      <Show from={list}>
        {(keys) => (
          <Table
            label={t("Keys")}
            rows={keys.data}
            id={(key) => key.id}
            columns={[
              {
                name: "kind",
                title: t("Kind"),
                width: "170px",
                cell: (key) => <span title={t(kinds[key.kind].about)}>{t(kinds[key.kind].title)}</span>
              },
              { name: "hint", title: t("Ends in"), width: "100px", cell: (key) => <code>…{key.hint}</code> },
              {
                name: "environment",
                title: t("Environment"),
                width: "120px",
                isExtra: true,
                cell: (key) =>
                  key.environment && (
                    <Badge tone={key.environment === "test" ? "warning" : "neutral"}>
                      {key.environment === "test" ? t("Test") : t("Live")}
                    </Badge>
                  )
              },
              { name: "label", title: t("Label"), cell: (key) => <span className="soft">{key.label}</span> },
              {
                name: "limits",
                title: t("Limited to"),
                isExtra: true,
                cell: (key) => (
                  <span className="soft">{[...(key.scopes ?? []), ...(key.networks ?? [])].join(", ")}</span>
                )
              },
              {
                name: "used",
                title: t("Last used"),
                width: "130px",
                isExtra: true,
                cell: (key) => <span className="soft">{key.lastUsed ? ago(key.lastUsed) : t("never")}</span>
              },
              {
                name: "expires",
                title: t("Expires"),
                width: "120px",
                isExtra: true,
                cell: (key) => key.expires && <Badge tone="warning">{ago(key.expires)}</Badge>
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (key) => (
                  <Menu
                    label={t("More about this key")}
                    items={[
                      { title: t("Rotate"), act: () => rotate(key), isHidden: !place.may("applications", "update") },
                      {
                        title: t("Revoke"),
                        act: () => revoke(key),
                        isDanger: true,
                        isHidden: !place.may("applications", "update")
                      }
                    ]} />
                )
              }
            ]}
            empty={<Empty icon="keys" title={t("No keys")} />} />
        )}
      </Show>
      {isNew && (
        <NewKey
          close={() => setNew(false)}
          made={(answer) => {
            setNew(false);
            setShown(answer);
            list.reload();
          }} />
      )}
      {shown && (
        <Dialog title={t("The new key")} close={() => setShown(null)}>
          <Notice tone="warning">{t("It is shown only once.")}</Notice>
          <span className="secret">
            <code>{shown.key}</code>
            <Copy text={shown.key} />
          </span>
        </Dialog>
      )}
      {dialog}
    </Section>
  );
}

function NewKey({ close, made }: { close: () => void; made: (answer: Answer<"POST /admin/apps/{app}/keys">) => void }) {
  const place = usePlace();
  const [kind, setKind] = useState<Key["kind"]>("secret");
  const [label, setLabel] = useState("");
  const [environment, setEnvironment] = useState<"live" | "test">(place.environment);
  const [scopes, setScopes] = useState("");
  const [networks, setNetworks] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const hasEnvironment = kind === "client" || kind === "ingest" || kind === "evaluation";
  const split = (text: string) => (text.trim() ? text.split(/[\s,]+/).filter(Boolean) : undefined);
  const send = async () =>
    made(
      await callIn(place, "POST /admin/apps/{app}/keys", {
        body: {
          kind,
          label,
          environment: hasEnvironment ? environment : undefined,
          scopes: split(scopes),
          networks: split(networks)
        }
      })
    );
  return (
    <Dialog title={t("New key")} close={close}>
      <Form send={send} action={t("Create")} cancel={close} fields={["label", "scopes", "networks"]} report={report}>
        <Choice
          label={t("Kind")}
          value={kind}
          change={setKind}
          hint={t(kinds[kind].about)}
          options={(Object.keys(kinds) as Key["kind"][]).map((one) => ({ value: one, title: t(kinds[one].title) }))} />
        {hasEnvironment && (
          <Choice
            label={t("Environment")}
            value={environment}
            change={setEnvironment}
            options={[{ value: "live", title: t("Live") }, { value: "test", title: t("Test") }]} />
        )}
        <TextField
          label={t("Label")}
          value={label}
          change={setLabel}
          isOptional
          placeholder={t("Such as: release 2.4")}
          error={errorOf("label", problem)} />
        {(kind === "secret" || kind === "master") && (
          <TextField
            label={t("Scopes")}
            value={scopes}
            change={setScopes}
            isOptional
            isCode
            placeholder="storage, analytics:read"
            hint={t("Other areas of the API answer 403.")}
            error={errorOf("scopes", problem)} />
        )}
        <TextField
          label={t("Networks")}
          value={networks}
          change={setNetworks}
          isOptional
          isCode
          placeholder="10.0.0.0/8"
          error={errorOf("networks", problem)} />
      </Form>
    </Dialog>
  );
}
