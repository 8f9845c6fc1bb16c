import type { MessageDelivery, PushMessage } from "../../generated/api";
import { download } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Badge, Button, Empty, Notice, PageHead, Section, Show, Tone } from "../system/basics";
import { BarList } from "../system/charts";
import { Select } from "../system/form";
import { JSONView } from "../system/json";
import { useInterval, useLoad, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { ago, t, Text, time } from "../text";
import { messageStates } from "./Push";

/** Of deliveries, and of the counts of a message. */
const results: Record<string, Text> = {
  waiting: "Waiting",
  queued: "Waiting",
  sending: "Sending",
  accepted: "Delivered",
  failed: "Failed",
  unknown: "Not known",
  cancelled: "Cancelled",
  opened: "Opened"
};
const nameOf = (result: string): string => {
  const title = results[result];
  return title ? t(title) : result;
};

const deliveryTones: Record<string, Tone> = {
  accepted: "good",
  failed: "bad",
  unknown: "warning",
  cancelled: "neutral",
  queued: "accent",
  sending: "accent"
};

export function MessagePage({ id }: { id: string }) {
  const place = usePlace();
  const { query } = useAddress();
  const state = query.get("state") ?? "";
  const message = useLoad(() => callIn(place, "GET /admin/apps/{app}/notifications/messages/{id}", { path: { id } }), [
    id,
    place.environment
  ]);
  const deliveries = usePages<MessageDelivery>(
    (cursor) =>
      callIn(place, "GET /admin/apps/{app}/notifications/messages/{id}/deliveries", {
        path: { id },
        query: { state: state || undefined, cursor, limit: 100 }
      }),
    [id, state]
  );
  const isOpen = message.data !== undefined && message.data.state !== "sent" && message.data.state !== "cancelled" &&
    message.data.state !== "failed";
  useInterval(() => {
    if (isOpen) {
      message.reload();
      deliveries.refresh();
    }
  }, 3);
  const act = (verb: "cancel" | "pause" | "resume") => async () => {
    const path = { id };
    message.show(
      verb === "cancel" ?
        await callIn(place, "POST /admin/apps/{app}/notifications/messages/{id}/cancel", { path }) :
        verb === "pause" ?
        await callIn(place, "POST /admin/apps/{app}/notifications/messages/{id}/pause", { path }) :
        await callIn(place, "POST /admin/apps/{app}/notifications/messages/{id}/resume", { path })
    );
  };
  return (
    <div className="page">
      <Show from={message}>
        {(data) => (
          <>
            <PageHead
              back={{ to: place.to("push"), title: t("Push") }}
              note={data.content?.body}
              title={
                <>
                  {data.content?.title ?? data.template ?? t("Without a title")}{" "}
                  <Badge tone={messageStates[data.state ?? ""]?.tone ?? "neutral"}>
                    {t(messageStates[data.state ?? ""]?.title ?? "Scheduled")}
                  </Badge>
                </>
              }>
              {isOpen && place.may("notifications", "update") && (
                <Button onPress={act(data.isPaused ? "resume" : "pause")}>
                  {data.isPaused ? t("Resume") : t("Pause")}
                </Button>
              )}
              {isOpen && place.may("notifications", "delete") && (
                <Button kind="danger" onPress={act("cancel")}>{t("Cancel the rest")}</Button>
              )}
            </PageHead>
            {data.problem && <Notice tone="bad">{data.problem}</Notice>}
            <div className="columns">
              <Section title={t("What became of it")}>
                <Counts message={data} />
              </Section>
              <Section title={t("Message")}>
                <dl className="facts">
                  <dt>{t("Created")}</dt>
                  <dd>{data.created && time(data.created)}</dd>
                  {data.due && (
                    <>
                      <dt>{t("Due")}</dt>
                      <dd>{time(data.due)}</dd>
                    </>
                  )}
                  {data.finished && (
                    <>
                      <dt>{t("Finished")}</dt>
                      <dd>{time(data.finished)}</dd>
                    </>
                  )}
                </dl>
                <JSONView value={{ audience: data.audience, content: data.content }} />
              </Section>
            </div>
            <Section
              title={t("Deliveries")}
              actions={
                <>
                  <Select
                    label={t("State")}
                    value={state}
                    change={(next) => setQuery({ state: next })}
                    options={["", "queued", "sending", "accepted", "failed", "unknown", "cancelled"].map((one) => ({
                      value: one,
                      title: one ? nameOf(one) : t("All")
                    }))} />
                  <Button
                    icon="download"
                    isSmall
                    onPress={() =>
                      download("GET /admin/apps/{app}/notifications/messages/{id}/deliveries/export", {
                        ...given(place, { id }),
                        query: { state }
                      }, "deliveries.csv")}>
                    CSV
                  </Button>
                </>
              }>
              <Show from={deliveries}>
                {(rows) => (
                  <Table
                    label={t("Deliveries")}
                    rows={rows}
                    id={(one) => one.pushId}
                    hasMore={deliveries.hasMore}
                    more={deliveries.more}
                    empty={<Empty icon="push" title={t("No device was in the audience")} />}
                    columns={[
                      {
                        name: "device",
                        title: t("Installation"),
                        width: "150px",
                        cell: (one) => <code>{one.installation.slice(0, 8)}</code>
                      },
                      {
                        name: "state",
                        title: t("State"),
                        width: "130px",
                        cell: (one) => <Badge tone={deliveryTones[one.state] ?? "neutral"}>{nameOf(one.state)}</Badge>
                      },
                      { name: "reason", title: t("Reason"), cell: (one) => <span className="soft">{one.reason}</span> },
                      {
                        name: "opened",
                        title: t("Opened"),
                        width: "140px",
                        isExtra: true,
                        cell: (one) => one.opened && <span className="soft">{ago(one.opened)}</span>
                      },
                      {
                        name: "updated",
                        title: t("Changed"),
                        width: "140px",
                        isExtra: true,
                        cell: (one) => <span className="soft">{ago(one.updated)}</span>
                      }
                    ]} />
                )}
              </Show>
            </Section>
          </>
        )}
      </Show>
    </div>
  );
}

function Counts({ message }: { message: PushMessage }) {
  const counts = Object.entries((message.counts ?? {}) as Record<string, unknown>).filter((
    entry
  ): entry is [string, number] => typeof entry[1] === "number" && entry[1] > 0);
  if (counts.length === 0) return <p className="faint">{t("Nothing was sent yet.")}</p>;
  return (
    <BarList
      label={t("What became of it")}
      bars={counts.map(([key, value]) => ({ key, name: nameOf(key), value }))} />
  );
}
