// Tickets as a list, in any order.

import { useState } from "react";
import type { Sprint, Ticket } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Empty, Link, Show } from "../system/basics";
import { Select } from "../system/form";
import { lazy } from "../system/lazy";
import { usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { ago, t } from "../text";
import { coloursOf, LabelChip, useLabels } from "./labels";
import { Filter, options, priorities, statuses, types, typeTones } from "./TicketWords";

const Bulk = lazy(async () => (await import("./TicketBulk")).Bulk);

export function ListView({ filter, sprints }: { filter: Filter; sprints: Sprint[] }) {
  const place = usePlace();
  const labels = useLabels();
  const colours = coloursOf(labels.data);
  const [selected, setSelected] = useState<Set<string | number>>(new Set());
  const toggle = (id: string | number) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const canChange = place.may("tickets", "update") || place.may("tickets", "delete");
  const { query } = useAddress();
  const [sort, status] = [query.get("sort") ?? "-updated", query.get("status") ?? ""];
  const list = usePages<Ticket>(
    (cursor) =>
      callIn(place, "GET /admin/apps/{app}/tickets", {
        query: { ...filter, status: status || undefined, sort, cursor, limit: 100 }
      }),
    [place.app.id, place.environment, JSON.stringify(filter), sort, status]
  );
  return (
    <div className="stack">
      <div className="toolbar">
        <Select
          label={t("Status")}
          value={status}
          change={(next) => setQuery({ status: next })}
          options={[{ value: "", title: t("Every status") }, ...options(statuses)]} />
        <Select
          label={t("Order")}
          value={sort}
          change={(next) => setQuery({ sort: next })}
          options={[
            { value: "-updated", title: t("Last changed") },
            { value: "-created", title: t("Newest") },
            { value: "-priority", title: t("Priority") }
          ]} />
      </div>
      {canChange && (
        <Bulk
          tickets={(list.data ?? []).filter((ticket) => selected.has(ticket.number ?? 0))}
          sprints={sprints}
          labels={labels.data ?? []}
          clear={() => setSelected(new Set())}
          changed={(numbers) => {
            setSelected(new Set([...selected].filter((one) => !numbers.has(Number(one)))));
            list.reload();
          }} />
      )}
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Tickets")}
            rows={rows}
            id={(ticket) => ticket.number ?? 0}
            to={(ticket) => place.to("tickets/" + ticket.number)}
            hasMore={list.hasMore}
            more={list.more}
            selected={selected}
            select={canChange ? toggle : undefined}
            selectAll={(isSelected) => setSelected(new Set(isSelected ? rows.map((ticket) => ticket.number ?? 0) : []))}
            empty={
              <Empty icon="tickets" title={t("No tickets")}>
                {t("Tickets come from you, from crashes, and from what users write.")}
              </Empty>
            }
            columns={[
              {
                name: "key",
                title: t("Number"),
                width: "84px",
                cell: (ticket) => <span className="soft nowrap">{ticket.key}</span>
              },
              {
                name: "title",
                title: t("Title"),
                cell: (ticket) => <Link to={place.to("tickets/" + ticket.number)}>{ticket.title}</Link>
              },
              {
                name: "labels",
                title: t("Labels"),
                width: "120px",
                isExtra: true,
                cell: (ticket) => (
                  <span className="row nowrap">
                    {(ticket.labels ?? []).map((one) => <LabelChip key={one} name={one} colour={colours.get(one)} />)}
                  </span>
                )
              },
              {
                name: "type",
                title: t("Type"),
                width: "120px",
                isExtra: true,
                cell: (ticket) => (
                  <Badge tone={typeTones[ticket.type ?? ""] ?? "neutral"}>
                    {t(types[ticket.type ?? ""] ?? "Task")}
                  </Badge>
                )
              },
              {
                name: "status",
                title: t("Status"),
                width: "112px",
                cell: (ticket) => t(statuses[ticket.status ?? ""] ?? "To do")
              },
              {
                name: "priority",
                title: t("Priority"),
                width: "92px",
                isExtra: true,
                cell: (ticket) => (
                  <span className={"priority-" + ticket.priority}>
                    {t(priorities[ticket.priority ?? ""] ?? "Medium")}
                  </span>
                )
              },
              {
                name: "assignee",
                title: t("Assignee"),
                width: "110px",
                isExtra: true,
                cell: (ticket) => <span className="soft">{ticket.assigneeName as string | null}</span>
              },
              {
                name: "updated",
                title: t("Changed"),
                width: "106px",
                isExtra: true,
                cell: (ticket) => <span className="soft">{ticket.updated && ago(ticket.updated)}</span>
              }
            ]} />
        )}
      </Show>
    </div>
  );
}
