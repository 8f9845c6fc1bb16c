// Mail of an app: what was sent, its templates, and who gets none.

import type { Mail } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Empty, PageHead, Show, Tabs, Tone } from "../system/basics";
import { Select } from "../system/form";
import { lazy } from "../system/lazy";
import { usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { ago, t } from "../text";

const Templates = lazy(async () => (await import("./MailTemplates")).Templates);

const tones: Record<string, Tone> = {
  sent: "good",
  failed: "bad",
  queued: "accent",
  skipped: "neutral",
  suppressed: "warning"
};

export function MailPage() {
  const { query } = useAddress();
  const tab = (["sent", "templates", "suppressed"] as const).find((one) => one === query.get("tab")) ?? "sent";
  return (
    <div className="page">
      <PageHead title={t("Mail")} note={t("Newsletters, receipts, invitations: sent by your server or by rules.")} />
      <Tabs
        label={t("Mail")}
        current={tab}
        choose={(next) => setQuery({ tab: next === "sent" ? "" : next })}
        tabs={[
          { name: "sent", title: t("Messages") },
          { name: "templates", title: t("Templates") },
          { name: "suppressed", title: t("Suppressed") }
        ]} />
      {tab === "templates" ? <Templates /> : tab === "suppressed" ? <Suppressed /> : <Sent />}
    </div>
  );
}

function Sent() {
  const place = usePlace();
  const { query } = useAddress();
  const state = query.get("state") ?? "";
  const list = usePages<Mail>(
    (cursor) =>
      callIn(place, "GET /admin/apps/{app}/notifications/mail", {
        query: { state: state || undefined, cursor, limit: 50 }
      }),
    [place.app.id, place.environment, state]
  );
  return (
    <div className="stack">
      <div className="toolbar">
        <Select
          label={t("State")}
          value={state}
          change={(next) => setQuery({ state: next })}
          options={["", ...Object.keys(tones)].map((one) => ({ value: one, title: one || t("All") }))} />
      </div>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Mail")}
            rows={rows}
            id={(one) => one.id ?? ""}
            hasMore={list.hasMore}
            more={list.more}
            empty={<Empty icon="mail" title={state ? t("Nothing matches") : t("No mail yet")} />}
            columns={[
              {
                name: "to",
                title: t("To"),
                cell: (one) => (one.to as string | null) ?? <span className="faint">{t("a user")}</span>
              },
              {
                name: "template",
                title: t("Template"),
                width: "160px",
                isExtra: true,
                cell: (one) => <span className="soft">{one.template as string | null}</span>
              },
              {
                name: "state",
                title: t("State"),
                width: "120px",
                cell: (one) => <Badge tone={tones[one.state ?? ""] ?? "neutral"}>{one.state}</Badge>
              },
              {
                name: "reason",
                title: t("Reason"),
                isExtra: true,
                cell: (one) => <span className="soft">{one.reason as string | null}</span>
              },
              {
                name: "created",
                title: t("Created"),
                width: "140px",
                cell: (one) => <span className="soft">{one.created && ago(one.created)}</span>
              }
            ]} />
        )}
      </Show>
    </div>
  );
}

function Suppressed() {
  const place = usePlace();
  const list = usePages(
    (cursor) => callIn(place, "GET /admin/apps/{app}/notifications/mail/suppressed", { query: { cursor, limit: 50 } }),
    [place.app.id, place.environment]
  );
  const release = async (address: string) => {
    await callIn(place, "DELETE /admin/apps/{app}/notifications/mail/suppressed", { query: { address } });
    list.reload();
  };
  return (
    <Show from={list}>
      {(rows) => (
        <Table
          label={t("Suppressed")}
          rows={rows}
          id={(one) => one.address ?? ""}
          hasMore={list.hasMore}
          more={list.more}
          empty={
            <Empty icon="mail" title={t("No address is suppressed")}>
              {t("Addresses whose mail bounced, or whose owners complained, are listed here and get no mail.")}
            </Empty>
          }
          columns={[
            { name: "address", title: t("Address"), cell: (one) => one.address },
            { name: "kind", title: t("Why"), width: "140px", cell: (one) => <Badge tone="warning">{one.kind}</Badge> },
            {
              name: "reason",
              title: t("Reason"),
              isExtra: true,
              cell: (one) => <span className="soft">{one.reason as string | null}</span>
            },
            {
              name: "since",
              title: t("Since"),
              width: "140px",
              cell: (one) => <span className="soft">{one.since && ago(one.since)}</span>
            },
            {
              name: "act",
              title: "",
              width: "130px",
              cell: (one) =>
                place.may("notifications", "delete") && (
                  <Button isSmall onPress={() => release(one.address ?? "")}>{t("Allow again")}</Button>
                )
            }
          ]} />
      )}
    </Show>
  );
}
