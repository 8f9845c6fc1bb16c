// The health of releases.

import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Empty, Show, Tone } from "../system/basics";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { ago, number, percent, t } from "../text";

interface Release {
  name: string;
  version?: string;
  sessions?: number;
  crashFreeSessions?: number | null;
  crashFreeUsers?: number | null;
  issues?: number;
  events?: number;
  firstSeen?: string;
  lastSeen?: string;
}

export function Releases() {
  const place = usePlace();
  const list = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/crashes/releases", { ...given(place), query: { days: 30, limit: 100 } }))
        .body as { data: Release[] },
    [place.app.id, place.environment]
  );
  const free = (value: number | null | undefined) => (typeof value === "number" ? percent(value / 100, 2) : "–");
  const tone = (
    value: number | null | undefined
  ): Tone => (typeof value !== "number" ? "neutral" : value >= 99 ? "good" : value >= 97 ? "warning" : "bad");
  return (
    <Show from={list}>
      {(found) => (
        <Table
          label={t("Releases")}
          rows={found.data}
          id={(one) => one.name}
          empty={<Empty icon="apps" title={t("No releases reported yet")} />}
          columns={[
            { name: "name", title: t("Release"), cell: (one) => <span className="strong">{one.name}</span> },
            {
              name: "sessions",
              title: t("Sessions, 30 days"),
              isNumber: true,
              width: "150px",
              isExtra: true,
              cell: (one) => number(one.sessions ?? 0)
            },
            {
              name: "free",
              title: t("Sessions without a crash"),
              isNumber: true,
              width: "200px",
              cell: (one) => <Badge tone={tone(one.crashFreeSessions)}>{free(one.crashFreeSessions)}</Badge>
            },
            {
              name: "users",
              title: t("People without a crash"),
              isNumber: true,
              width: "190px",
              isExtra: true,
              cell: (one) => free(one.crashFreeUsers)
            },
            {
              name: "seen",
              title: t("First seen"),
              width: "150px",
              isExtra: true,
              cell: (one) => <span className="soft">{one.firstSeen && ago(one.firstSeen)}</span>
            }
          ]} />
      )}
    </Show>
  );
}
