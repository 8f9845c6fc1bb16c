// What staff did with an object, from the audit log, which names the fields that changed, not their values.

import type { AuditEntry } from "../../generated/api";
import { call } from "../api/client";
import { may } from "../api/session";
import { usePlace } from "../shell/place";
import { Badge, Empty, Link, Notice, Show } from "../system/basics";
import { usePages } from "../system/load";
import { Table } from "../system/table";
import { ago, t, Text, time } from "../text";
import { historyOf } from "./Audit";

const acts: Record<string, Text> = {
  "create-object": "created",
  "update-object": "changed",
  "delete-object": "deleted"
};

export function ObjectHistory({ collection, id, on }: { collection: string; id: string; on: unknown }) {
  const place = usePlace();
  const mayRead = may("audit", "read");
  const query = {
    area: "storage",
    app: place.app.id,
    environment: place.environment,
    target: `${collection}/${id}`
  };
  const entries = usePages<AuditEntry>(
    async (before) => mayRead ? await call("GET /admin/audit", { query: { ...query, before, limit: 50 } }) : {},
    [place.app.id, place.environment, collection, id, on]
  );
  if (!mayRead) return <Notice>{t("The history is part of the audit log, which you have no right to read.")}</Notice>;
  return (
    <div className="stack">
      <p className="note">
        {t("Changes by staff. Those by users and servers are not kept.")}{" "}
        <Link to={historyOf(query)}>{t("In the audit log")}</Link>
      </p>
      <Show from={entries} lines={2}>
        {(rows) => (
          <Table
            label={t("History")}
            rows={rows}
            id={(entry) => entry.number}
            hasMore={entries.hasMore}
            more={entries.more}
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
