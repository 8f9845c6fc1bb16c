// The records of a collection: a table of a million rows, and filters made by clicking.

import { ReactNode, useMemo, useState } from "react";
import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Link, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { Icon } from "../system/icons";
import { JSONView } from "../system/json";
import { usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { ago, number, t, Text, time } from "../text";

export type StoredObject =
  & { _id: string; created?: string; updated?: string; _version?: number }
  & Record<string, unknown>;

interface Condition {
  field: string;
  operator: Operator;
  value: string;
}

type Operator = "equals" | "differs" | "greater" | "less" | "begins" | "contains" | "exists" | "missing";

const operators: Record<Operator, Text> = {
  equals: "is",
  differs: "is not",
  greater: "is greater than",
  less: "is less than",
  begins: "begins with",
  contains: "contains",
  exists: "is there",
  missing: "is not there"
};

const escapePattern = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The value as JSON if it is some, else as text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function filterOf(conditions: Condition[]): object {
  const parts = conditions.map(({ field, operator, value }) => {
    switch (operator) {
      case "differs":
        return { [field]: { $ne: valueOf(value) } };
      case "greater":
        return { [field]: { $gt: valueOf(value) } };
      case "less":
        return { [field]: { $lt: valueOf(value) } };
      case "begins":
        return { [field]: { $regex: "^" + escapePattern(value) } };
      case "contains":
        return { [field]: { $regex: escapePattern(value) } };
      case "exists":
        return { [field]: { $exists: true } };
      case "missing":
        return { [field]: { $exists: false } };
      default:
        return { [field]: valueOf(value) };
    }
  });
  return parts.length === 0 ? {} : parts.length === 1 ? parts[0] ?? {} : { $and: parts };
}

function readConditions(text: string | null): Condition[] {
  if (!text) return [];
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) ?
      found.filter((one) => typeof one?.field === "string" && one.operator in operators).map((one) => ({
        ...one,
        value: String(one.value ?? "")
      })) :
      [];
  } catch {
    return [];
  }
}

export function Records({ collection }: { collection: string }) {
  const place = usePlace();
  const { query } = useAddress();
  const conditions = useMemo(() => readConditions(query.get("filter")), [query.get("filter")]);
  const order = query.get("order") ?? "-created";
  const filter = useMemo(() => filterOf(conditions), [conditions]);
  const isFiltered = conditions.length > 0;
  const list = usePages<StoredObject>(async (cursor) => {
    const address = "POST /admin/apps/{app}/storage/query/{collection}?cursor=" + encodeURIComponent(cursor ?? "");
    const body =
      (await request(address, { ...given(place, { collection }), body: filter, query: { order, limit: 100 } })).body;
    return { data: body.data, next: body.cursor };
  }, [place.app.id, place.environment, collection, order, JSON.stringify(filter), query.get("at")]);
  const setConditions = (next: Condition[]) => setQuery({ filter: next.length ? JSON.stringify(next) : "" });
  const fields = useMemo(() => fieldsOf(list.data ?? []), [list.data]);
  const columns = fields.slice(0, 7);
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
        order={order} />
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

const shortId = (id: string) => (id.length > 14 ? "…" + id.slice(-10) : id);

/** Names of fields, the most frequent first. */
function fieldsOf(objects: StoredObject[]): string[] {
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

function FilterBar(
  { collection, conditions, set, fields, filter, order }: {
    collection: string;
    conditions: Condition[];
    set: (conditions: Condition[]) => void;
    fields: string[];
    filter: object;
    order: string;
  }
) {
  const place = usePlace();
  const [isOpen, setOpen] = useState(false);
  const [shows, setShows] = useState(false);
  const [field, setField] = useState("");
  const [operator, setOperator] = useState<Operator>("equals");
  const [value, setValue] = useState("");
  const needsValue = operator !== "exists" && operator !== "missing";
  const curl = `curl -H 'Authorization: Bearer …'${
    place.environment === "test" ? " -H 'X-Martlet-Environment: test'" : ""
  } \\\n  -d '${
    JSON.stringify(filter).replace(/'/g, "'\\''")
  }' \\\n  '${location.origin}/admin/apps/${place.app.id}/storage/query/${encodeURIComponent(collection)}?order=${
    encodeURIComponent(order)
  }'`;
  const add = async () => {
    set([...conditions, { field: field || fields[0] || "_id", operator, value: needsValue ? value : "" }]);
    setOpen(false);
    setValue("");
  };
  return (
    <div className="stack" style={{ gap: 8 }}>
      <div className="chips">
        <Button isSmall icon="filter" onPress={() => setOpen(!isOpen)} pressed={isOpen}>{t("Filter")}</Button>
        {conditions.map((one, index) => (
          <span className="chip" key={index}>
            {one.field} {t(operators[one.operator])} {one.value && <strong>{one.value}</strong>}
            <button
              type="button"
              aria-label={t("Remove this condition")}
              onClick={() => set(conditions.filter((_, place) => place !== index))}>
              <Icon name="close" size={12} />
            </button>
          </span>
        ))}
        <Button isSmall kind="quiet" onPress={() => setShows(true)}>JSON · curl</Button>
      </div>
      {isOpen && (
        <Form send={add} action={t("Add")} cancel={() => setOpen(false)}>
          <div className="pair">
            <Choice
              label={t("Field")}
              value={field || fields[0] || "_id"}
              change={setField}
              options={fields.map((one) => ({ value: one, title: one }))} />
            <Choice
              label={t("Condition")}
              value={operator}
              change={setOperator}
              options={(Object.keys(operators) as Operator[]).map((one) => ({
                value: one,
                title: t(operators[one])
              }))} />
            {needsValue && (
              <TextField
                label={t("Value")}
                value={value}
                change={setValue}
                autoFocus
                hint={t("Numbers and true are taken as such; quote them for texts.")} />
            )}
          </div>
        </Form>
      )}
      {shows && (
        <Dialog title={t("This list as a call")} close={() => setShows(false)} isWide>
          <h3>
            {t("Filter")} <Copy text={JSON.stringify(filter)} />
          </h3>
          <JSONView value={filter} />
          <h3>
            curl <Copy text={curl} />
          </h3>
          <pre className="json-view">{curl}</pre>
        </Dialog>
      )}
    </div>
  );
}
