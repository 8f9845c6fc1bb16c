// Push messages, the devices they reach, and the keys they are sent with.

import { useState } from "react";
import type { PushCredential, PushMessage } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, Menu, PageHead, Section, Show, Tabs, Tone } from "../system/basics";
import { BarList } from "../system/charts";
import { Dialog, useConfirm } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { useInterval, useLoad, usePages } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, t, Text } from "../text";

export const messageStates: Record<string, { title: Text; tone: Tone }> = {
  scheduled: { title: "Scheduled", tone: "accent" },
  planning: { title: "Planning", tone: "accent" },
  sending: { title: "Sending", tone: "accent" },
  sent: { title: "Sent", tone: "good" },
  cancelled: { title: "Cancelled", tone: "neutral" },
  failed: { title: "Failed", tone: "bad" }
};

export function PushPage() {
  const place = usePlace();
  const { query } = useAddress();
  const tab = (["messages", "devices", "credentials"] as const).find((one) => one === query.get("tab")) ?? "messages";
  return (
    <div className="page">
      <PageHead title={t("Push")}>
        {place.may("notifications", "create") && (
          <Button
            kind="primary"
            icon="plus"
            onPress={() => go(place.to("push/new"))}>
            {t("New message")}
          </Button>
        )}
      </PageHead>
      <Tabs
        label={t("Push")}
        current={tab}
        choose={(next) => setQuery({ tab: next === "messages" ? "" : next })}
        tabs={[
          { name: "messages", title: t("Messages") },
          { name: "devices", title: t("Devices") },
          { name: "credentials", title: t("Push keys") }
        ]} />
      {tab === "devices" ? <Devices /> : tab === "credentials" ? <Credentials /> : <Messages />}
    </div>
  );
}

type Shown = PushMessage & {
  content?: { title?: string; body?: string };
  counts?: Record<string, number>;
  created?: string;
  due?: string;
};

function Messages() {
  const place = usePlace();
  const list = usePages<PushMessage>(
    (before) => callIn(place, "GET /admin/apps/{app}/notifications/messages", { query: { before, limit: 50 } }),
    [place.app.id, place.environment]
  );
  useInterval(() => list.data?.some((one) => one.state === "sending" || one.state === "planning") && list.reload(), 3);
  return (
    <Show from={list}>
      {(rows) => (
        <Table
          label={t("Messages")}
          rows={rows as Shown[]}
          id={(one) => one.id ?? ""}
          to={(one) => place.to("push/" + one.id)}
          hasMore={list.hasMore}
          more={list.more}
          empty={
            <Empty
              icon="push"
              title={t("No messages yet")}
              action={place.may("notifications", "create") && (
                <Button
                  kind="primary"
                  onPress={() => go(place.to("push/new"))}>
                  {t("New message")}
                </Button>
              )}>
              {t("Write one to everybody, to a channel, or to people you name.")}
            </Empty>
          }
          columns={[
            {
              name: "title",
              title: t("Message"),
              cell: (one) => (
                <span className="two-lines">
                  <Link to={place.to("push/" + one.id)}>
                    {one.content?.title ?? (one as { template?: string }).template ?? t("Without a title")}
                  </Link>
                  <span className="faint">{one.content?.body}</span>
                </span>
              )
            },
            {
              name: "state",
              title: t("State"),
              width: "120px",
              cell: (one) => (
                <Badge tone={messageStates[one.state ?? ""]?.tone ?? "neutral"}>
                  {t(messageStates[one.state ?? ""]?.title ?? "Scheduled")}
                </Badge>
              )
            },
            {
              name: "when",
              title: t("When"),
              width: "150px",
              isExtra: true,
              cell: (one) => (
                <span className="soft">{(one.due ?? one.created) && ago(one.due ?? one.created ?? "")}</span>
              )
            }
          ]} />
      )}
    </Show>
  );
}

function Devices() {
  const place = usePlace();
  const counts = useLoad(() => callIn(place, "GET /admin/apps/{app}/notifications/installations/counts"), [
    place.app.id,
    place.environment
  ]);
  const list = usePages(
    (cursor) => callIn(place, "GET /admin/apps/{app}/notifications/installations", { query: { cursor, limit: 50 } }),
    [place.app.id, place.environment]
  );
  return (
    <div className="stack-large">
      <Show from={counts} lines={2}>
        {(found) =>
          (found.data?.length ?? 0) === 0 ? null : (
            <div className="columns">
              <BarList
                label={t("Devices")}
                bars={(found.data ?? []).map((one) => ({
                  key: [one.platform, one.service, one.sandbox].join(),
                  value: one.installations ?? 0,
                  name: `${one.platform ?? "–"} · ${one.service ?? t("no token")}${one.sandbox ? " sandbox" : ""}`
                }))} />
            </div>
          )}
      </Show>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Devices")}
            rows={rows}
            id={(one) => one.id ?? ""}
            hasMore={list.hasMore}
            more={list.more}
            empty={
              <Empty icon="push" title={t("No devices yet")}>
                {t("An app registers its device each time it is opened.")}
              </Empty>
            }
            columns={[
              {
                name: "id",
                title: t("Installation"),
                width: "130px",
                cell: (one) => <code>{one.id?.slice(0, 8)}</code>
              },
              { name: "platform", title: t("Platform"), width: "120px", cell: (one) => one.platform },
              {
                name: "push",
                title: t("Push"),
                width: "130px",
                cell: (one) =>
                  one.push ?
                    <Badge tone="good">{(one.push as { service?: string }).service}</Badge> :
                    <Badge>{t("no token")}</Badge>
              },
              {
                name: "version",
                title: t("Version"),
                width: "110px",
                isExtra: true,
                cell: (one) => one.appVersion as string | null
              },
              {
                name: "locale",
                title: t("Language"),
                width: "110px",
                isExtra: true,
                cell: (one) => one.locale as string | null
              },
              {
                name: "channels",
                title: t("Channels"),
                isExtra: true,
                cell: (one) => <span className="soft">{one.channels?.join(", ")}</span>
              },
              {
                name: "seen",
                title: t("Last seen"),
                width: "130px",
                cell: (one) => <span className="soft">{one.seen && ago(one.seen)}</span>
              }
            ]} />
        )}
      </Show>
    </div>
  );
}

const services: Record<string, { title: string; about: Text }> = {
  apns: { title: "Apple (APNs)", about: "A key file (.p8) from Apple's developer portal." },
  fcm: { title: "Google (FCM)", about: "A service account from the Firebase console, as JSON." },
  webpush: { title: "Web Push", about: "For browsers. Martlet makes the key; you give a contact." }
};

function Credentials() {
  const place = usePlace();
  const list = useLoad(() => callIn(place, "GET /admin/apps/{app}/notifications/credentials"), [
    place.app.id,
    place.environment
  ]);
  const [edited, edit] = useState<string | null>(null);
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("notifications", "update");
  return (
    <Section note={t("Each environment has keys of its own. Secrets are stored sealed and never shown again.")}>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Push keys")}
            id={(one) => one.kind}
            rows={Object.keys(services).map((kind) => ({
              kind,
              stored: found.data?.find((one) => one.kind === kind) as PushCredential | undefined
            }))}
            columns={[
              {
                name: "kind",
                title: t("Service"),
                cell: (one) => (
                  <span className="two-lines">
                    <span className="strong">{services[one.kind]?.title}</span>
                    <span className="faint">
                      {t(services[one.kind]?.about ?? "For browsers. Martlet makes the key; you give a contact.")}
                    </span>
                  </span>
                )
              },
              {
                name: "state",
                title: t("State"),
                width: "140px",
                cell: (one) =>
                  !one.stored ?
                    <Badge>{t("Not set up")}</Badge> :
                    one.stored.broken ?
                    <Badge tone="bad">{t("Refused")}</Badge> :
                    <Badge tone="good">{t("Ready")}</Badge>
              },
              {
                name: "about",
                title: t("Key"),
                isExtra: true,
                cell: (one) => (
                  <span className="soft">
                    {one.stored &&
                      [one.stored.keyId, one.stored.teamId, one.stored.projectId, one.stored.subject].filter(Boolean)
                        .join(" · ")}
                  </span>
                )
              },
              {
                name: "act",
                title: "",
                width: "150px",
                cell: (one) =>
                  canUpdate && (
                    <span className="row">
                      <Button isSmall onPress={() => edit(one.kind)}>{one.stored ? t("Replace") : t("Set up")}</Button>
                      <Menu
                        label={t("More")}
                        items={[{
                          title: t("Remove"),
                          isDanger: true,
                          isHidden: !one.stored || !place.may("notifications", "delete"),
                          act: () =>
                            ask({
                              title: t("Remove this push key?"),
                              action: t("Remove"),
                              text: t("Nothing more is sent through this service."),
                              act: async () => {
                                await callIn(place, "DELETE /admin/apps/{app}/notifications/credentials/{kind}", {
                                  path: { kind: one.kind }
                                });
                                list.reload();
                              }
                            })
                        }]} />
                    </span>
                  )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <CredentialForm
          kind={edited}
          close={() => edit(null)}
          done={() => {
            edit(null);
            list.reload();
            say(t("Stored"));
          }} />
      )}
      {dialog}
    </Section>
  );
}

function CredentialForm({ kind, close, done }: { kind: string; close: () => void; done: () => void }) {
  const place = usePlace();
  const [values, setValues] = useState<Record<string, string>>({});
  const [problem, report] = useState<unknown>(undefined);
  const field = (name: string, label: string, more: object = {}) => (
    <TextField
      key={name}
      label={label}
      value={values[name] ?? ""}
      change={(next) => setValues({ ...values, [name]: next })}
      isRequired
      error={errorOf(name, problem)}
      {...more} />
  );
  const send = async () => {
    const body = kind === "apns" ?
      {
        key: values["key"],
        keyId: values["keyId"],
        teamId: values["teamId"],
        bundleIds: (values["bundleIds"] ?? "").split(/[\s,]+/).filter(Boolean)
      } :
      kind === "fcm" ?
      { serviceAccount: JSON.parse(values["serviceAccount"] ?? "{}") } :
      { subject: values["subject"] };
    await callIn(place, "PUT /admin/apps/{app}/notifications/credentials/{kind}", { path: { kind }, body });
    done();
  };
  return (
    <Dialog title={services[kind]?.title ?? kind} close={close}>
      <Form
        send={send}
        action={t("Store")}
        cancel={close}
        report={report}
        fields={["key", "keyId", "teamId", "bundleIds", "serviceAccount", "subject"]}>
        {kind === "apns" &&
          [
            field("key", t("Contents of the key file"), {
              lines: 5,
              isCode: true,
              autoFocus: true,
              placeholder: "-----BEGIN PRIVATE KEY-----"
            }),
            field("keyId", t("Key id"), { isCode: true, placeholder: "ABCDE12345" }),
            field("teamId", t("Team id"), { isCode: true }),
            field("bundleIds", t("Bundle ids"), { isCode: true })
          ]}
        {kind === "fcm" && field("serviceAccount", t("Service account"), { lines: 8, isCode: true, autoFocus: true })}
        {kind === "webpush" &&
          field("subject", t("Contact"), { autoFocus: true, placeholder: "mailto:push@example.com" })}
      </Form>
    </Dialog>
  );
}
