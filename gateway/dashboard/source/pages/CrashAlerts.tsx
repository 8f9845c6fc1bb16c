// Alerts: which news about crashes is sent, and to whom.

import { useState } from "react";
import type { CrashAlert } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Empty, Menu, Section, Show, Tone } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { useLoad } from "../system/load";
import { useOpened } from "../system/opened";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, number, t, Text, time } from "../text";
import { CrashAlertDialog } from "./CrashAlertDialog";
import { SecretDialog } from "./Hooks";

export const alertKinds: Record<CrashAlert["kind"], Text> = {
  newIssue: "A new issue",
  regression: "A resolved issue that is back",
  rate: "Many reports in a short time",
  crashFree: "Too few sessions without a crash"
};

const targets: Record<CrashAlert["target"]["type"], Text> = {
  webhook: "Webhook",
  mail: "Mail",
  notification: "Push rules"
};

const states: Record<string, Tone> = { waiting: "accent", done: "good", dead: "bad" };

export function CrashAlerts() {
  const place = usePlace();
  const list = useLoad(
    async () => (await callIn(place, "GET /admin/apps/{app}/crashes/alerts")) as { data: CrashAlert[] },
    [place.app.id, place.environment]
  );
  const [edited, edit] = useOpened(list.data?.data, (one) => one.id);
  const [secret, setSecret] = useState("");
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("crashes", "update");
  const path = (one: CrashAlert) => ({ path: { alert: one.id ?? "" } });
  const test = async (one: CrashAlert) => {
    const outcome = await callIn(place, "POST /admin/apps/{app}/crashes/alerts/{alert}/test", path(one));
    const detail = String(outcome["error"] ?? outcome["status"] ?? "");
    if (outcome["delivered"]) say(t("The test arrived."), { tone: "good" });
    else say(t("The test did not arrive."), { detail, tone: "bad" });
    list.reload();
  };
  const renew = (one: CrashAlert) =>
    ask({
      title: t("A new secret?"),
      action: t("Make a new secret"),
      isDanger: false,
      text: t("For a day, calls are signed with both secrets, so that your server can change over."),
      act: async () => {
        const answer = await callIn(place, "POST /admin/apps/{app}/crashes/alerts/{alert}/secret", path(one));
        setSecret(String(answer["secret"]));
      }
    });
  const remove = (one: CrashAlert) =>
    ask({
      title: t("Delete {name}?", { name: one.name }),
      action: t("Delete"),
      text: t("What it has not delivered yet is not sent."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/crashes/alerts/{alert}", path(one));
        list.reload();
      }
    });
  return (
    <Section
      actions={place.may("crashes", "create") && (
        <Button icon="plus" onPress={() => edit("new")}>{t("New alert")}</Button>
      )}>
      <Show from={list}>
        {({ data }) => (
          <Table
            label={t("Alerts")}
            rows={data}
            id={(one) => one.id ?? one.name}
            open={edit}
            empty={
              <Empty icon="crash" title={t("No alerts yet")}>
                {t("An alert tells people or your server of a new issue, or of many crashes.")}
              </Empty>
            }
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (one) => (
                  <span className="row nowrap">
                    <button type="button" className="link" onClick={() => edit(one)}>{one.name}</button>
                    {one.enabled === false && <Badge tone="warning">{t("off")}</Badge>}
                  </span>
                )
              },
              { name: "kind", title: t("When"), cell: (one) => <span title={words(one)}>{words(one)}</span> },
              {
                name: "target",
                title: t("To"),
                width: "120px",
                isExtra: true,
                cell: (one) => t(targets[one.target.type])
              },
              {
                name: "fired",
                title: t("Last fired"),
                width: "130px",
                isExtra: true,
                cell: (one) => one.fired && <span className="soft" title={time(one.fired)}>{ago(one.fired)}</span>
              },
              {
                name: "delivery",
                title: t("Delivery"),
                width: "110px",
                isExtra: true,
                cell: (one) => {
                  const last = one.lastDelivery as { state?: string; error?: string } | null | undefined;
                  return last?.state && (
                    <span title={last.error ?? undefined}>
                      <Badge tone={states[last.state] ?? "neutral"}>{last.state}</Badge>
                    </span>
                  );
                }
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
                        title: t("Send a test"),
                        isHidden: !canUpdate,
                        act: () => void test(one).catch((error) => say(String(error.message), { tone: "bad" }))
                      },
                      {
                        title: t("Make a new secret"),
                        isHidden: !canUpdate || one.target.type !== "webhook",
                        act: () => renew(one)
                      },
                      {
                        title: t("Delete"),
                        isDanger: true,
                        isHidden: !place.may("crashes", "delete"),
                        act: () => remove(one)
                      }
                    ]} />
                )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <CrashAlertDialog
          stored={edited === "new" ? null : edited}
          close={() => edit(null)}
          done={(made) => {
            edit(null);
            setSecret(made);
            list.reload();
          }} />
      )}
      {secret && <SecretDialog title={t("The alert's secret")} secret={secret} close={() => setSecret("")} />}
      {dialog}
    </Section>
  );
}

function words(alert: CrashAlert): string {
  const { kind, threshold = 0, windowSeconds = 0, windowDays = 0 } = alert;
  if (kind === "rate") return t("{count} reports in {minutes} min", { count: threshold, minutes: windowSeconds / 60 });
  if (kind === "crashFree") {
    return t("Less than {share} % without a crash in {days} days", { share: number(threshold), days: windowDays });
  }
  return t(alertKinds[kind]);
}
