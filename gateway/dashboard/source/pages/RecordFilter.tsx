// Filters of records, made by clicking.

import { ReactNode, useState } from "react";
import { usePlace } from "../shell/place";
import { Button, Copy } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { Icon } from "../system/icons";
import { JSONView } from "../system/json";
import { t, Text } from "../text";

export interface Condition {
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

/** The value parsed as JSON, or as text if it is not JSON. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function filterOf(conditions: Condition[]): object {
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

export function readConditions(text: string | null): Condition[] {
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

export function FilterBar(
  { collection, conditions, set, fields, filter, order, extra }: {
    collection: string;
    conditions: Condition[];
    set: (conditions: Condition[]) => void;
    fields: string[];
    filter: object;
    order: string;
    extra?: ReactNode;
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
        {extra}
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
                hint={t("Numbers and true are read as such; put them in quotes for text.")} />
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
