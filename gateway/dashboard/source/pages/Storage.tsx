// Collections and their records: a table of a million rows, filters by clicking, rules, schema and indexes as JSON.

import { ReactNode, useMemo, useState } from "react";
import { request } from "../api/client";
import { Problem } from "../api/problem";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Link, Menu, Notice, PageHead, Section, Show, Tabs } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { Icon } from "../system/icons";
import { Finding, JSONEditor, JSONView, parse, pretty } from "../system/json";
import { useLoad, usePages } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, bytes, compact, number, t, Text, time } from "../text";

interface Collection {
  name: string;
  estimatedCount: number;
  sizeInBytes: number;
}
export type StoredObject =
  & { _id: string; created?: string; updated?: string; _version?: number }
  & Record<string, unknown>;
type Tab = "records" | "rules" | "schema" | "indexes";

export function StoragePage({ collection }: { collection: string }) {
  const place = usePlace();
  const { query } = useAddress();
  const tab = (["records", "rules", "schema", "indexes"] as const).find((one) => one === query.get("tab")) ?? "records";
  const list = useLoad(
    async () => (await request("GET /admin/apps/{app}/collections", given(place))).body.data as Collection[],
    [place.app.id, place.environment]
  );
  const [isNew, setNew] = useState(false);
  const canCreate = place.may("storage", "create");
  const present = collection || list.data?.[0]?.name || "";
  const make = canCreate && (
    <Button
      kind={list.data?.length ? "normal" : "primary"}
      icon="plus"
      onPress={() => setNew(true)}>
      {t("New object")}
    </Button>
  );
  return (
    <div className="page full" style={{ gap: 16 }}>
      <PageHead title={present || t("Storage")}>
        {present && <CollectionMenu collection={present} changed={list.reload} />}
        {make}
      </PageHead>
      <Show from={list}>
        {(collections) =>
          collections.length === 0 && !collection ?
            (
              <Empty icon="data" title={t("Nothing is stored yet")} action={make}>
                {t("A collection is created with its first object. Store one here, or from your server.")}
              </Empty>
            ) :
            (
              <div className="workspace">
                <nav className="shelf" aria-label={t("Collections")}>
                  {collections.map((one) => (
                    <Link
                      key={one.name}
                      to={place.to("storage/" + encodeURIComponent(one.name))}
                      current={one.name === present}>
                      <span>{one.name}</span>
                      <span className="faint" title={bytes(one.sizeInBytes)}>
                        {one.estimatedCount > 0 ? compact(one.estimatedCount) : ""}
                      </span>
                    </Link>
                  ))}
                </nav>
                <div className="sheet">
                  <Tabs<Tab>
                    label={t("Views")}
                    current={tab}
                    choose={(next) => setQuery({ tab: next === "records" ? "" : next })}
                    tabs={[
                      { name: "records", title: t("Records") },
                      { name: "rules", title: t("Rules") },
                      { name: "schema", title: t("Schema") },
                      { name: "indexes", title: t("Indexes") }
                    ]} />
                  {tab === "records" ?
                    <Records key={present} collection={present} /> :
                    tab === "indexes" ?
                    <Indexes key={present} collection={present} /> :
                    <JSONPart key={present + tab} collection={present} part={tab} />}
                </div>
              </div>
            )}
      </Show>
      {isNew && (
        <NewObject
          collection={present}
          close={() => setNew(false)}
          made={(name) => {
            setNew(false);
            list.reload();
            go(place.to("storage/" + encodeURIComponent(name), { at: String(Date.now()) }));
          }} />
      )}
    </div>
  );
}

function CollectionMenu({ collection, changed }: { collection: string; changed: () => void }) {
  const place = usePlace();
  const [dialog, ask] = useConfirm();
  return (
    <>
      <Menu
        label={t("More about {name}", { name: collection })}
        items={[
          {
            title: t("Delete the collection"),
            isDanger: true,
            isHidden: !place.may("storage", "delete"),
            act: () =>
              ask({
                title: t("Delete {name}?", { name: collection }),
                action: t("Delete"),
                typed: collection,
                text: t("All of its objects, rules and indexes are gone for good."),
                act: async () => {
                  await request("DELETE /admin/apps/{app}/collections/{collection}", given(place, { collection }));
                  changed();
                  go(place.to("storage"));
                }
              })
          }
        ]} />
      {dialog}
    </>
  );
}

function NewObject(
  { collection, close, made }: { collection: string; close: () => void; made: (collection: string) => void }
) {
  const place = usePlace();
  const [name, setName] = useState(collection);
  const [text, setText] = useState('{\n  "title": ""\n}');
  const parsed = parse(text);
  const send = async () => {
    await request("POST /admin/apps/{app}/storage/{collection}", {
      ...given(place, { collection: name }),
      body: parsed.value
    });
    say(t("Stored"));
    made(name);
  };
  return (
    <Dialog title={t("New object")} close={close} isWide>
      <Form send={send} action={t("Store")} cancel={close} isDisabled={parsed.error !== undefined}>
        <TextField
          label={t("Collection")}
          value={name}
          change={setName}
          isRequired
          autoFocus
          placeholder="Notes"
          hint={t("A new name makes a new collection.")} />
        <JSONEditor label={t("Object")} text={text} change={setText} />
      </Form>
    </Dialog>
  );
}

// MARK: Records and their filters

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

function Records({ collection }: { collection: string }) {
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

// MARK: Rules, schema, indexes

/** Rules or schema: JSON, with the server's refusal shown where it is. */
function JSONPart({ collection, part }: { collection: string; part: "rules" | "schema" }) {
  const place = usePlace();
  const address = `/admin/apps/{app}/collections/{collection}/${part}`;
  const loaded = useLoad(async () => {
    try {
      return { text: pretty((await request("GET " + address, given(place, { collection }))).body), exists: true };
    } catch (error) {
      if (error instanceof Problem && error.status === 404) {
        return {
          text: part === "rules" ? '{\n  "rules": {}\n}' : '{\n  "type": "object",\n  "properties": {}\n}',
          exists: false
        };
      }
      throw error;
    }
  }, [place.app.id, place.environment, collection, part]);
  return (
    <div style={{ overflowY: "auto", paddingBottom: 24 }} className="stack">
      <p className="note">
        {part === "rules" ?
          t("Who may read and write. Without a rule, the access of the environment decides: closed or open.") :
          t("What objects look like: JSON Schema. Checked on every write from then on.")}
      </p>
      <Show from={loaded}>
        {(data) => (
          <JSONPartEditor
            key={data.text}
            collection={collection}
            part={part}
            stored={data.text}
            exists={data.exists}
            saved={loaded.reload}
            address={address} />
        )}
      </Show>
    </div>
  );
}

function JSONPartEditor(
  { collection, part, stored, exists, saved, address }: {
    collection: string;
    part: string;
    stored: string;
    exists: boolean;
    saved: () => void;
    address: string;
  }
) {
  const place = usePlace();
  const [text, setText] = useState(stored);
  const [findings, setFindings] = useState<Finding[]>([]);
  const [report, setReport] = useState<Record<string, any> | null>(null);
  const parsed = parse(text);
  const canUpdate = place.may("storage", "update");
  const save = async () => {
    setReport(null);
    try {
      const answer = (await request("PUT " + address, { ...given(place, { collection }), body: parsed.value })).body;
      if (answer && typeof answer.misfits === "number" && answer.misfits > 0) setReport(answer);
      say(t("Stored"));
      saved();
    } catch (error) {
      if (!(error instanceof Problem) || error.status < 400 || error.status >= 500 || error.status === 403) throw error;
      const refusal = error;
      const list = (error.body["findings"] ?? error.body["errors"]) as Record<string, string>[] | undefined;
      setFindings(
        list?.length ?
          list.map((one) => ({
            severity: "error" as const,
            path: one["path"] ?? one["pointer"] ?? "",
            message: one["message"] ?? one["detail"] ?? refusal.detail
          })) :
          [{ severity: "error" as const, path: pointerOf(error.field), message: error.detail }]
      );
      if (Array.isArray(error.body["first"])) setReport(error.body);
    }
  };
  return (
    <div className="stack">
      <JSONEditor
        label={part}
        text={text}
        findings={findings}
        isReadOnly={!canUpdate}
        lines={26}
        change={(next) => {
          setText(next);
          setFindings([]);
        }} />
      {report && (
        <Notice tone="warning">
          {t("{n} of the stored objects do not fit.", { n: report["misfits"] ?? 0 })}{" "}
          {((report["first"] ?? []) as { id: string; pointer: string; message: string }[]).slice(0, 5).map((one) => (
            <p key={one.id + one.pointer}>
              <code>{one.id}</code> {one.pointer}: {one.message}
            </p>
          ))}
        </Notice>
      )}
      <div className="row">
        {canUpdate && (
          <Button kind="primary" onPress={save} isDisabled={parsed.error !== undefined || (text === stored && exists)}>
            {t("Save")}
          </Button>
        )}
        {part === "schema" && exists && place.may("storage", "delete") && (
          <Button
            kind="danger"
            onPress={async () => {
              await request("DELETE " + address, given(place, { collection }));
              saved();
            }}>
            {t("Remove the schema")}
          </Button>
        )}
      </div>
    </div>
  );
}

/** `rules.read[0].who` as a JSON Pointer. */
function pointerOf(field: string | undefined): string {
  if (!field) return "";
  if (field.startsWith("/")) return field;
  return "/" +
    field.replace(/\[(\d+)\]/g, ".$1").split(".").map((part) => part.replace(/~/g, "~0").replace(/\//g, "~1")).join(
      "/"
    );
}

interface Index {
  name: string;
  fields: string[];
  unique: boolean;
  kind: string;
  state: string;
  error?: { detail?: string };
}
interface Advice {
  fields?: string[];
  kind?: string;
  reason?: string;
  detail?: string;
  index?: { fields?: string[] };
}

function Indexes({ collection }: { collection: string }) {
  const place = usePlace();
  const list = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/collections/{collection}/indexes", given(place, { collection }))).body
        .data as Index[],
    [place.app.id, place.environment, collection]
  );
  const advice = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/collections/{collection}/advice", given(place, { collection }))).body as {
        data?: Advice[];
      },
    [place.app.id, place.environment, collection]
  );
  const [dialog, ask] = useConfirm();
  const [fields, setFields] = useState("");
  const [kind, setKind] = useState("ordered");
  const [isUnique, setUnique] = useState("no");
  const make = async (names: string[], of = kind) => {
    await request("POST /admin/apps/{app}/collections/{collection}/indexes", {
      ...given(place, { collection }),
      body: { fields: names, kind: of, ...(isUnique === "yes" ? { unique: true } : {}) }
    });
    setFields("");
    list.reload();
    advice.reload();
  };
  const canUpdate = place.may("storage", "create");
  return (
    <div className="stack-large" style={{ overflowY: "auto", paddingBottom: 24 }}>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Indexes")}
            rows={rows}
            id={(one) => one.name}
            empty={
              <Empty icon="data" title={t("No indexes of its own")}>
                {t("Equality is fast without one. Add one for ranges and orders over many objects.")}
              </Empty>
            }
            columns={[
              { name: "name", title: t("Name"), cell: (one) => <code>{one.name}</code> },
              { name: "fields", title: t("Fields"), cell: (one) => one.fields.join(", ") },
              {
                name: "kind",
                title: t("Kind"),
                width: "110px",
                cell: (one) => one.kind
              },
              {
                name: "unique",
                title: "",
                width: "90px",
                cell: (one) => one.unique && <Badge tone="accent">{t("unique")}</Badge>
              },
              {
                name: "state",
                title: t("State"),
                width: "110px",
                cell: (one) => (
                  <Badge tone={one.state === "ready" ? "good" : one.state === "failed" ? "bad" : "accent"}>
                    {one.state}
                  </Badge>
                )
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (one) => (
                  <Menu
                    label={t("More about {name}", { name: one.name })}
                    items={[{
                      title: t("Delete"),
                      isDanger: true,
                      isHidden: !place.may("storage", "delete"),
                      act: () =>
                        ask({
                          title: t("Delete {name}?", { name: one.name }),
                          action: t("Delete"),
                          text: t("Lists that used it become slower."),
                          act: async () => {
                            await request(
                              "DELETE /admin/apps/{app}/collections/{collection}/indexes/{index}",
                              given(place, { collection, index: one.name })
                            );
                            list.reload();
                          }
                        })
                    }]} />
                )
              }
            ]} />
        )}
      </Show>
      {(advice.data?.data?.length ?? 0) > 0 && (
        <Section title={t("Advice")}>
          {advice.data?.data?.map((one, index) => {
            const names = one.index?.fields ?? one.fields;
            return (
              <Notice key={index} tone="warning">
                <span className="row">
                  <span>
                    {String(one.reason ?? one.detail ?? "")} <code>{names?.join(", ") ?? JSON.stringify(one)}</code>
                  </span>
                  {names && canUpdate && (
                    <Button isSmall onPress={() => make(names, one.kind ?? "ordered")}>{t("Make this index")}</Button>
                  )}
                </span>
              </Notice>
            );
          })}
        </Section>
      )}
      {canUpdate && (
        <Section title={t("New index")}>
          <Form
            send={() => make(fields.split(/[\s,]+/).filter(Boolean))}
            action={t("Create")}
            isDisabled={!fields.trim()}>
            <div className="pair">
              <TextField
                label={t("Fields")}
                value={fields}
                change={setFields}
                isCode
                placeholder="age, -title"
                hint={t("With - for descending.")} />
              <Choice
                label={t("Kind")}
                value={kind}
                change={setKind}
                options={["ordered", "prefix", "text", "geo"].map((one) => ({ value: one, title: one }))} />
              <Choice
                label={t("Unique")}
                value={isUnique}
                change={setUnique}
                options={[{ value: "no", title: t("no") }, { value: "yes", title: t("yes") }]} />
            </div>
          </Form>
        </Section>
      )}
      {dialog}
    </div>
  );
}
