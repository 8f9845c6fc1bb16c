// One hook: its deliveries, its failures, its secret.

import { useState } from "react";
import type { Delivery, Hook, HookFailure } from "../../generated/api";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Badge, Button, Empty, Menu, PageHead, Show, Tabs, Tone } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { Select } from "../system/form";
import { useInterval, useLoad } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, number, t, Text, time } from "../text";
import { events, HookDialog, SecretDialog } from "./Hooks";

const states: Record<Delivery["state"], { title: Text; tone: Tone }> = {
  waiting: { title: "Waiting", tone: "accent" },
  done: { title: "Delivered", tone: "good" },
  dead: { title: "Given up", tone: "bad" }
};

const outcomes: Record<HookFailure["outcome"], Text> = {
  status: "It answered with an error",
  answer: "Its answer was not understood",
  timeout: "It took too long",
  unreachable: "It could not be reached",
  lost: "The connection broke",
  address: "Its address is not allowed"
};

export function HookPage({ name }: { name: string }) {
  const place = usePlace();
  const { query } = useAddress();
  const hook = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/hooks/{name}", { path: { name } }),
    [place.app.id, place.environment, name]
  );
  const [isEditing, setEditing] = useState(false);
  const [secret, setSecret] = useState("");
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("storage", "update");
  const rotate = () =>
    ask({
      title: t("A new secret?"),
      action: t("Make a new secret"),
      isDanger: false,
      text: t("For a day, calls are signed with both secrets, so that your server can change over."),
      act: async () => {
        setSecret((await callIn(place, "POST /admin/apps/{app}/hooks/{name}/secret", { path: { name } })).secret);
      }
    });
  const remove = () =>
    ask({
      title: t("Delete {name}?", { name }),
      action: t("Delete"),
      text: t("What it has not delivered yet is not sent."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/hooks/{name}", { path: { name } });
        go(place.to("hooks"));
      }
    });
  return (
    <div className="page">
      <Show from={hook}>
        {(data) => (
          <>
            <PageHead
              title={<>{name} {data.enabled === false && <Badge tone="warning">{t("off")}</Badge>}</>}
              back={{ to: place.to("hooks"), title: t("Hooks") }}
              note={
                <>
                  {t(events[data.event])}
                  {data.collection && ` · ${data.collection}`} · <code>{data.url}</code>
                </>
              }>
              {canUpdate && <Button onPress={() => setEditing(true)}>{t("Edit")}</Button>}
              <Menu
                label={t("More")}
                items={[
                  { title: t("Make a new secret"), act: rotate, isHidden: !canUpdate },
                  { title: t("Delete"), act: remove, isDanger: true, isHidden: !place.may("storage", "delete") }
                ]} />
            </PageHead>
            <History hook={data} name={name} asked={query.get("tab")} />
            {isEditing && <HookDialog hook={data} close={() => setEditing(false)} done={hook.reload} />}
          </>
        )}
      </Show>
      {secret && <SecretDialog secret={secret} close={() => setSecret("")} />}
      {dialog}
    </div>
  );
}

/** Only hooks after a change and scanners have deliveries; others are called within the request. */
function History({ hook, name, asked }: { hook: Hook; name: string; asked: string | null }) {
  const hasDeliveries = ["afterSave", "afterDelete", "scanFile"].includes(hook.event);
  const tab = hasDeliveries && asked !== "failures" ? "deliveries" : "failures";
  return (
    <>
      <Tabs
        label={t("Views")}
        current={tab}
        choose={(next) => setQuery({ tab: next })}
        tabs={[
          ...(hasDeliveries ? [{ name: "deliveries" as const, title: t("Deliveries") }] : []),
          { name: "failures", title: t("Failures") }
        ]} />
      {tab === "deliveries" ? <Deliveries name={name} /> : <Failures name={name} />}
    </>
  );
}

function Deliveries({ name }: { name: string }) {
  const place = usePlace();
  const { query } = useAddress();
  const state = query.get("state") ?? "";
  const list = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/hooks/{name}/deliveries", {
        ...given(place, { name }),
        query: { state, limit: 100 }
      })).body as { data: Delivery[] },
    [place.app.id, place.environment, name, state]
  );
  useInterval(list.reload, 10);
  const retry = async (delivery: Delivery) => {
    const path = { name, id: delivery.id };
    await callIn(place, "POST /admin/apps/{app}/hooks/{name}/deliveries/{id}/retry", { path });
    say(t("It is tried again."));
    list.reload();
  };
  return (
    <div className="stack">
      <div className="toolbar">
        <Select
          label={t("State")}
          value={state}
          change={(next) => setQuery({ state: next })}
          options={[
            { value: "", title: t("All") },
            ...(Object.keys(states) as Delivery["state"][]).map((one) => ({ value: one, title: t(states[one].title) }))
          ]} />
        <span className="faint">{t("The newest 100")}</span>
      </div>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Deliveries")}
            rows={found.data}
            id={(one) => one.id}
            empty={<Empty icon="link" title={state ? t("Nothing matches") : t("Nothing was delivered yet")} />}
            columns={[
              {
                name: "object",
                title: t("Object"),
                cell: (one) => <span title={one.object}>{one.collection} {one.object}</span>
              },
              {
                name: "state",
                title: t("State"),
                width: "120px",
                cell: (one) => <Badge tone={states[one.state].tone}>{t(states[one.state].title)}</Badge>
              },
              { name: "attempts", title: t("Attempts"), width: "90px", isNumber: true, cell: (one) => one.attempts },
              {
                name: "error",
                title: t("Reason"),
                isExtra: true,
                cell: (one) => <span className="soft" title={one.error}>{one.error ?? one.status}</span>
              },
              {
                name: "created",
                title: t("When"),
                width: "130px",
                isExtra: true,
                cell: (one) => <span className="soft" title={time(one.created)}>{ago(one.created)}</span>
              },
              {
                name: "act",
                title: "",
                width: "130px",
                cell: (one) =>
                  one.state !== "done" && place.may("storage", "update") && (
                    <Button isSmall onPress={() => retry(one)}>{t("Try again")}</Button>
                  )
              }
            ]} />
        )}
      </Show>
    </div>
  );
}

function Failures({ name }: { name: string }) {
  const place = usePlace();
  const list = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/hooks/{name}/failures", { path: { name }, query: { limit: 100 } }),
    [place.app.id, place.environment, name]
  );
  useInterval(list.reload, 10);
  return (
    <Show from={list}>
      {(found) => (
        <Table
          label={t("Failures")}
          rows={found.data.map((one, index) => ({ ...one, index }))}
          id={(one) => one.index}
          empty={<Empty icon="check" title={t("No failures")}>{t("At most one a second is recorded.")}</Empty>}
          columns={[
            {
              name: "at",
              title: t("When"),
              width: "130px",
              cell: (one) => <span className="soft" title={time(one.at)}>{ago(one.at)}</span>
            },
            { name: "outcome", title: t("What happened"), width: "230px", cell: (one) => t(outcomes[one.outcome]) },
            { name: "status", title: t("Status"), width: "80px", isNumber: true, cell: (one) => one.status },
            { name: "error", title: t("Reason"), cell: (one) => <span title={one.error}>{one.error}</span> },
            {
              name: "milliseconds",
              title: t("Took"),
              width: "100px",
              isNumber: true,
              isExtra: true,
              cell: (one) => `${number(one.milliseconds)} ms`
            }
          ]} />
      )}
    </Show>
  );
}
