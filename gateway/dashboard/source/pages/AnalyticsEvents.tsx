// What happens now, and single events.

import { useState } from "react";
import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Section, Show } from "../system/basics";
import { BarList, LineChart } from "../system/charts";
import { JSONView } from "../system/json";
import { useInterval, usePages } from "../system/load";
import { Table } from "../system/table";
import { Dialog } from "../system/dialog";
import { ago, locale, plural, t, time } from "../text";
import { TextFilter } from "./Audit";
import { Asked, noEvents, useQuestion } from "./AnalyticsQuestion";

interface LiveAnswer {
  minutes?: number;
  events?: number;
  people?: number;
  topEvents?: Named[];
  topScreens?: Named[];
  data: { minute?: string; events?: number; people?: number }[];
}

interface Named {
  name?: string;
  value?: string;
  event?: string;
  screen?: string;
  events?: number;
  count?: number;
}

export function Live() {
  const live = useQuestion<LiveAnswer>("live", {});
  useInterval(live.reload, 10);
  const bars = (rows: Named[] = []) =>
    rows.map((row, index) => ({
      key: String(index),
      name: row.name ?? row.value ?? row.event ?? row.screen ?? "–",
      value: row.events ?? row.count ?? 0
    }));
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
  return (
    <Show from={live}>
      {(found) => (
        <div className="stack-large">
          <Section
            title={t("The last 30 minutes")}
            note={`${plural(found.events ?? 0, "{n} event", "{n} events")}, ${
              plural(found.people ?? 0, "{n} person", "{n} people")
            }`}>
            <LineChart
              label={t("Events by minute")}
              points={found.data.map((row) => clock.format(new Date(row.minute ?? 0)))}
              series={[{ name: t("Events"), values: found.data.map((row) => row.events ?? 0) }]} />
          </Section>
          {(found.events ?? 0) > 0 && (
            <div className="columns">
              <Section title={t("Events")}>
                <BarList label={t("Events")} bars={bars(found.topEvents)} />
              </Section>
              {(found.topScreens?.length ?? 0) > 0 && (
                <Section title={t("Screens")}>
                  <BarList label={t("Screens")} bars={bars(found.topScreens)} />
                </Section>
              )}
            </div>
          )}
        </div>
      )}
    </Show>
  );
}

interface Event1 {
  id?: string;
  at?: string;
  type?: string;
  name?: string | null;
  person?: string | null;
  release?: string | null;
  os?: string | null;
  country?: string | null;
  properties?: object;
}

export function SingleEvents({ asked }: { asked: Asked }) {
  const place = usePlace();
  const list = usePages<Event1>(
    async (after) =>
      (await request("GET /admin/apps/{app}/analytics/events", {
        ...given(place),
        query: { event: asked.event || undefined, after, limit: 100 }
      })).body,
    [place.app.id, place.environment, asked.event]
  );
  const [shown, show] = useState<Event1 | null>(null);
  return (
    <div className="stack">
      <div className="toolbar">
        <span className="grow">
          <TextFilter key={asked.event} name="event" value={asked.event} label={t("Name of an event")} />
        </span>
      </div>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Single events")}
            rows={rows}
            id={(row) => row.id ?? ""}
            open={show}
            hasMore={list.hasMore}
            more={list.more}
            empty={noEvents()}
            columns={[
              {
                name: "at",
                title: t("When"),
                width: "170px",
                cell: (row) => <span className="soft" title={row.at && time(row.at)}>{row.at && ago(row.at)}</span>
              },
              {
                name: "name",
                title: t("Event"),
                cell: (row) => (
                  <span className="row" style={{ flexWrap: "nowrap" }}>
                    <span className="strong">{row.name ?? row.type}</span>
                    {row.type !== "track" && <Badge>{row.type}</Badge>}
                  </span>
                )
              },
              {
                name: "person",
                title: t("Person"),
                width: "140px",
                isExtra: true,
                cell: (row) => <code className="soft">{row.person?.slice(0, 8)}</code>
              },
              {
                name: "release",
                title: t("Release"),
                width: "120px",
                isExtra: true,
                cell: (row) => <span className="soft">{row.release}</span>
              },
              {
                name: "os",
                title: t("System"),
                width: "130px",
                isExtra: true,
                cell: (row) => <span className="soft">{row.os}</span>
              },
              {
                name: "country",
                title: t("Country"),
                width: "90px",
                isExtra: true,
                cell: (row) => <span className="soft">{row.country}</span>
              }
            ]} />
        )}
      </Show>
      {shown && (
        <Dialog title={shown.name ?? shown.type ?? ""} close={() => show(null)} isWide>
          <JSONView value={shown} />
        </Dialog>
      )}
    </div>
  );
}
