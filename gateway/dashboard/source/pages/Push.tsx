// Push messages, the devices they reach, and the keys they are sent with.

import type { PushMessage } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, PageHead, Show, Tabs, Tone } from "../system/basics";
import { BarList } from "../system/charts";
import { lazy } from "../system/lazy";
import { useInterval, useLoad, usePages } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { ago, t, Text } from "../text";

export const messageStates: Record<string, { title: Text; tone: Tone }> = {
  scheduled: { title: "Scheduled", tone: "accent" },
  planning: { title: "Planning", tone: "accent" },
  sending: { title: "Sending", tone: "accent" },
  sent: { title: "Sent", tone: "good" },
  cancelled: { title: "Cancelled", tone: "neutral" },
  failed: { title: "Failed", tone: "bad" }
};

const tabs = ["messages", "rules", "segments", "templates", "devices", "credentials"] as const;
const Credentials = lazy(async () => (await import("./PushKeys")).Credentials);
const PushDocuments = lazy(async () => (await import("./PushDocuments")).PushDocuments);

export function PushPage() {
  const place = usePlace();
  const { query } = useAddress();
  const tab = tabs.find((one) => one === query.get("tab")) ?? "messages";
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
          { name: "rules", title: t("Rules") },
          { name: "segments", title: t("Segments") },
          { name: "templates", title: t("Templates") },
          { name: "devices", title: t("Devices") },
          { name: "credentials", title: t("Push keys") }
        ]} />
      {tab === "messages" ?
        <Messages /> :
        tab === "devices" ?
        <Devices /> :
        tab === "credentials" ?
        <Credentials /> :
        <PushDocuments key={tab} kind={tab} />}
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
  const isOpen = list.data?.some((one) => one.state === "sending" || one.state === "planning");
  useInterval(() => isOpen && list.refresh(), 3);
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
