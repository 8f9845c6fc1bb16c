// What staff did with an object. The audit log names the fields that changed, not their values.

import type { AuditEntry } from "../../generated/api";
import { call } from "../api/client";
import { may } from "../api/session";
import { usePlace } from "../shell/place";
import { Badge, Empty, Notice, Show } from "../system/basics";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { ago, number, t, Text, time } from "../text";

const acts: Record<string, Text> = {
  "create-object": "created",
  "update-object": "changed",
  "delete-object": "deleted"
};
/** The log cannot be asked for one object, so its newest entries are read and searched. */
const searched = 1000;

export function ObjectHistory({ collection, id, on }: { collection: string; id: string; on: unknown }) {
  const place = usePlace();
  const mayRead = may("audit", "read");
  const entries = useLoad(async () => {
    if (!mayRead) return [];
    const page = await call("GET /admin/audit", {
      query: { area: "storage", app: place.app.id, environment: place.environment, limit: searched }
    });
    return (page.data as AuditEntry[]).filter((entry) => entry.target === `${collection}/${id}`);
  }, [place.app.id, place.environment, collection, id, on]);
  if (!mayRead) return <Notice>{t("The history is part of the audit log, which you have no right to read.")}</Notice>;
  return (
    <div className="stack">
      <p className="note">
        {t("Changes by staff, among the last {n} in this app. Those by users and servers are not kept.", {
          n: number(searched)
        })}
      </p>
      <Show from={entries} lines={2}>
        {(rows) => (
          <Table
            label={t("History")}
            rows={rows}
            id={(entry) => entry.number}
            empty={<Empty icon="clock" title={t("No change by staff")} />}
            columns={[
              {
                name: "when",
                title: t("When"),
                width: "150px",
                cell: (entry) => <span className="soft" title={time(entry.time)}>{ago(entry.time)}</span>
              },
              { name: "who", title: t("Who"), width: "170px", cell: (entry) => entry.staff.userName },
              {
                name: "what",
                title: t("What"),
                width: "110px",
                cell: (entry) => <Badge>{t(acts[entry.action] ?? "changed")}</Badge>
              },
              { name: "fields", title: t("Fields"), cell: (entry) => <code>{fieldsOf(entry).join(", ")}</code> }
            ]} />
        )}
      </Show>
    </div>
  );
}

const fieldsOf = (entry: AuditEntry): string[] => (entry.after as { fields?: string[] } | null)?.fields ?? [];
