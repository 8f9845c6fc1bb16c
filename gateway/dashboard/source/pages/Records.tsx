// The records of a collection: a table of a million rows, and their places on a map.

import { ReactNode, useMemo } from "react";
import { request } from "../api/client";
import { given, Place, usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, Show } from "../system/basics";
import { GeoPlot, Spot } from "../system/plot";
import { usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { ago, number, t, time } from "../text";
import { Condition, FilterBar, filterOf, readConditions } from "./RecordFilter";

export type StoredObject =
  & { _id: string; created?: string; updated?: string; _version?: number }
  & Record<string, unknown>;

export function Records({ collection }: { collection: string }) {
  const place = usePlace();
  const { query } = useAddress();
  const conditions = useMemo(() => readConditions(query.get("filter")), [query.get("filter")]);
  const order = query.get("order") ?? "-created";
  const filter = useMemo(() => filterOf(conditions), [conditions]);
  const isFiltered = conditions.length > 0;
  const list = usePages<StoredObject>(async (cursor) => {
    const address = "POST /admin/apps/{app}/storage/query/{collection}?cursor=" + encodeURIComponent(cursor ?? "");
    // Later pages are longer, so that the end of a long list is near.
    const limit = cursor ? 500 : 100;
    const body =
      (await request(address, { ...given(place, { collection }), body: filter, query: { order, limit } })).body;
    return { data: body.data, next: body.cursor };
  }, [place.app.id, place.environment, collection, order, JSON.stringify(filter), query.get("at")]);
  const setConditions = (next: Condition[]) => setQuery({ filter: next.length ? JSON.stringify(next) : "" });
  const fields = useMemo(() => fieldsOf(list.data ?? []), [list.data]);
  const columns = fields.slice(0, 7);
  const spots = useMemo(() => spotsOf((list.data ?? []).slice(0, mostSpots), collection, place), [list.data]);
  const showsMap = spots.length > 0 && query.get("view") === "map";
  const sortBy = (field: string) => setQuery({ order: order === field ? "-" + field : field });
  const head = (field: string): ReactNode => (
    <button
      type="button"
      className="button quiet small"
      onClick={() => sortBy(field)}
      aria-label={t("Order by {name}", { name: field })}>
      {field}
      {order === field ? " ↑" : order === "-" + field ? " ↓" : ""}
    </button>
  );
  return (
    <>
      <FilterBar
        collection={collection}
        conditions={conditions}
        set={setConditions}
        fields={["_id", "created", "updated", ...fields]}
        filter={filter}
        order={order}
        extra={spots.length > 0 && (
          <Button
            isSmall
            pressed={showsMap}
            onPress={() => setQuery({ view: showsMap ? "" : "map" })}>
            {t("Map")}
          </Button>
        )} />
      {showsMap && <GeoPlot spots={spots} />}
      {showsMap && (list.data?.length ?? 0) > mostSpots && (
        <p className="hint">
          {t("The places of the first {n} objects. Filter the list to see others.", { n: mostSpots })}
        </p>
      )}
      <Show from={list}>
        {(rows) => (
          <div className="records" style={{ display: "contents" }}>
            <Table
              label={t("Records of {name}", { name: collection })}
              isTall
              rows={rows}
              id={(object) => object._id}
              hasMore={list.hasMore}
              more={list.more}
              to={(object) => place.to(`storage/${encodeURIComponent(collection)}/${encodeURIComponent(object._id)}`)}
              empty={
                <Empty
                  icon="data"
                  title={isFiltered ? t("Nothing matches") : t("No objects")}
                  action={isFiltered && <Button onPress={() => setConditions([])}>{t("Clear the filter")}</Button>} />
              }
              columns={[
                {
                  name: "_id",
                  title: head("_id"),
                  width: "140px",
                  cell: (object) => (
                    <Link to={place.to(`storage/${encodeURIComponent(collection)}/${encodeURIComponent(object._id)}`)}>
                      <code title={object._id}>{shortId(object._id)}</code>
                    </Link>
                  )
                },
                ...columns.map((field, index) => ({
                  name: field,
                  title: head(field),
                  isExtra: index > 1,
                  cell: (object: StoredObject) => (
                    <Cell
                      value={object[field]}
                      add={(value: string) => setConditions([...conditions, { field, operator: "equals", value }])} />
                  )
                })),
                {
                  name: "created",
                  title: head("created"),
                  width: "130px",
                  isExtra: true,
                  cell: (object) => (
                    <span className="soft" title={object.created && time(object.created)}>
                      {object.created && ago(object.created)}
                    </span>
                  )
                }
              ]} />
          </div>
        )}
      </Show>
    </>
  );
}

/** Drawn on a map. More would be slow, and hide each other. */
const mostSpots = 2000;

const shortId = (id: string) => (id.length > 14 ? "…" + id.slice(-10) : id);

/** The places that objects have, each by its first field of this kind. */
function spotsOf(objects: StoredObject[], collection: string, place: Place): Spot[] {
  return objects.flatMap((object) => {
    const found = Object.values(object).find((value) => (value as { __type?: string } | null)?.__type === "GeoPoint");
    if (!found) return [];
    const { latitude, longitude } = found as { latitude?: unknown; longitude?: unknown };
    if (typeof latitude !== "number" || typeof longitude !== "number") return [];
    const to = place.to(`storage/${encodeURIComponent(collection)}/${encodeURIComponent(object._id)}`);
    return [{ id: object._id, latitude, longitude, title: object._id, to }];
  });
}

/** Names of fields, the most frequent first. */
export function fieldsOf(objects: StoredObject[]): string[] {
  const counts = new Map<string, number>();
  for (const object of objects.slice(0, 200)) {
    for (const name of Object.keys(object)) {
      if (!["_id", "created", "updated", "deleted", "_version", "_readers", "_writers"].includes(name)) {
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

/** A value in a cell. Pointers open; a simple value can become a filter. */
export function Cell({ value, add }: { value: unknown; add?: (value: string) => void }) {
  const place = usePlace();
  if (value === undefined) return <span className="faint" />;
  if (value === null) return <span className="faint">null</span>;
  if (typeof value === "object") {
    const typed = value as {
      __type?: string;
      className?: string;
      objectId?: string;
      latitude?: number;
      longitude?: number;
      iso?: string;
    };
    if (typed.__type === "Pointer" && typed.className && typed.objectId) {
      return (
        <Link to={place.to(`storage/${encodeURIComponent(typed.className)}/${encodeURIComponent(typed.objectId)}`)}>
          {typed.className} {shortId(typed.objectId)}
        </Link>
      );
    }
    if (typed.__type === "GeoPoint") return <span>{number(typed.latitude ?? 0)}, {number(typed.longitude ?? 0)}</span>;
    if (typed.__type === "Date" && typed.iso) return <span>{time(typed.iso)}</span>;
    return <code className="soft">{JSON.stringify(value)}</code>;
  }
  const text = typeof value === "number" ? String(value) : typeof value === "boolean" ? String(value) : value as string;
  const shown = typeof value === "boolean" ?
    <Badge tone={value ? "good" : "neutral"}>{text}</Badge> :
    typeof value === "number" ?
    <span style={{ fontVariantNumeric: "tabular-nums" }}>{text}</span> :
    text;
  if (!add || text.length > 60) return <span title={text}>{shown}</span>;
  return (
    <span
      className="cell-value"
      title={t("Alt-click filters by this value")}
      onClick={(event) => {
        if (event.altKey) {
          event.stopPropagation();
          add(typeof value === "string" ? JSON.stringify(value) : text);
        }
      }}>
      {shown}
    </span>
  );
}
