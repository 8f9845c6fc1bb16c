// The rules of a collection as a form: who may do what, and under which condition. What the form cannot show stays as
// it is; see docs/api/rules.md for the whole grammar.

import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Button, Section } from "../system/basics";
import { Choice, Select } from "../system/form";
import { useLoad } from "../system/load";
import { own } from "../system/own";
import { t, Text } from "../text";
import { Conditions } from "./FlagConditions";
import { Grammar, isRecord, isText, Members, readPlain, withMember, without, writeWhen } from "./flagRules";
import { fieldsOf, StoredObject } from "./Records";
import { NamedCards, NamesField, NotShown, useKeys, ValueInput, Wrong } from "./TypedInputs";

/** Conditions are filters of storage, with variables. */
const filterGrammar: Grammar = {
  attributes: [
    "_id",
    "created",
    "updated",
    "$user.id",
    "$user.emailVerified",
    "$old.",
    "$new."
  ],
  lists: [],
  operators: ["is", "$ne", "$in", "$nin", "$lt", "$lte", "$gt", "$gte", "$regex", "exists", "missing", "$eq"],
  // Filters of storage have no `$not` around others.
  joins: ["all", "any", "none"],
  hasVariables: true
};

const operations: Record<string, Text> = {
  get: "Read one",
  find: "See in lists",
  count: "Count",
  create: "Create",
  update: "Change",
  delete: "Delete",
  addField: "Add new fields"
};

/** What rules may refer to. */
interface Known {
  fields: string[];
  roles: string[];
}

interface Part {
  rules: Members;
  change: (rules: Members) => void;
  problem: unknown;
}

/** The server's fields whose errors the form shows at their place. */
export const rulesFields = ["rules", "hidden", "defaults", "immutable"];

export function CollectionRulesForm({ collection, rules, change, problem }: Part & { collection: string }) {
  const known = useKnown(collection);
  const lists = own(rules, "rules") ?? {};
  const rest = without(rules, rulesFields);
  if (!isRecord(lists)) {
    return (
      <>
        <NotShown value={rules} />
        <Wrong problem={problem} of={rulesFields} />
      </>
    );
  }
  const names = Object.keys(operations);
  const unknown = without(lists, names);
  const set = (name: string) => (list: unknown) => change(withMember(rules, "rules", withMember(lists, name, list)));
  return (
    <div className="stack-large">
      <Section
        title={t("Who may do what")}
        note={t("Whoever may change or delete an object must also be able to read it.")}>
        {names.map((name) => (
          <div key={name} className="card" role="group" aria-label={t(operations[name] ?? "Change")}>
            <Who
              label={t(operations[name] ?? "Change")}
              list={own(lists, name)}
              change={set(name)}
              known={known}
              mayBeMissing
              may={name === "addField" ? "names" : name === "update" ? "changes" : "conditions"} />
            <Wrong problem={problem} of={["rules." + name]} />
          </div>
        ))}
        {Object.keys(unknown).length > 0 && <NotShown value={unknown} />}
        <Wrong problem={problem} of={["rules"]} except={names.map((name) => "rules." + name)} />
      </Section>
      <Hidden {...{ rules, change, problem, known }} />
      <NewObjects {...{ rules, change, problem }} />
      {Object.keys(rest).length > 0 && <NotShown value={rest} />}
    </div>
  );
}

function useKnown(collection: string): Known {
  const place = usePlace();
  const found = useLoad(async () => {
    const read = async <Found,>(may: boolean, load: () => Promise<Found[]>) => (may ? load().catch(() => []) : []);
    const [objects, roles] = await Promise.all([
      read(place.may("storage", "read"), async () =>
        (await request("POST /admin/apps/{app}/storage/query/{collection}", {
          ...given(place, { collection }),
          body: {},
          query: { limit: 50 }
        })).body.data as StoredObject[]),
      read(place.may("users", "read"), async () =>
        (await request("GET /admin/apps/{app}/roles", { ...given(place), query: { limit: 1000 } })).body
          .data as { name: string }[])
    ]);
    return { fields: fieldsOf(objects), roles: roles.map((one) => one.name) };
  }, [place.app.id, place.environment, collection]);
  return found.data ?? { fields: [], roles: [] };
}

// A list of who may

type Kind = "missing" | "nobody" | "anyone" | "authenticated" | "chosen";

const kindTitles: Record<Kind, Text> = {
  missing: "no rule: the environment decides",
  nobody: "nobody but the server",
  anyone: "anyone who has the app",
  authenticated: "signed-in users",
  chosen: "only these"
};

function kindOf(list: unknown[] | undefined): Kind {
  if (!list) return "missing";
  if (list.length === 0) return "nobody";
  if (list.length > 1) return "chosen";
  return list[0] === "*" ? "anyone" : list[0] === "authenticated" ? "authenticated" : "chosen";
}

/**
 * What a list may contain: names of users and roles; also fields of the object that name users; also conditions; also
 * conditions with limits on changes.
 */
type Contents = "names" | "fields" | "conditions" | "changes";

function Who(
  { label, list, change, known, mayBeMissing, may }: {
    label: string;
    list: unknown;
    /** Undefined is no list. */
    change: (list: unknown[] | undefined) => void;
    known: Known;
    mayBeMissing?: boolean;
    may: Contents;
  }
) {
  const entries = list ?? undefined;
  if (entries !== undefined && !Array.isArray(entries)) {
    return (
      <>
        <h3>{label}</h3>
        <NotShown value={list} />
      </>
    );
  }
  const kind = kindOf(entries);
  const starts: Record<Kind, unknown[] | undefined> = {
    missing: undefined,
    nobody: [],
    anyone: ["*"],
    authenticated: ["authenticated"],
    chosen: [may === "names" ? roleOf(known) : ownerOf(known)]
  };
  return (
    <>
      <Choice
        label={label}
        value={kind}
        change={(next) => next !== kind && change(starts[next])}
        options={(Object.keys(kindTitles) as Kind[]).filter((one) => one !== "missing" || mayBeMissing).map((one) => ({
          value: one,
          title: t(kindTitles[one])
        }))} />
      {kind === "chosen" && entries && <Entries {...{ entries, change, known, may }} />}
    </>
  );
}

const ownerOf = ({ fields }: Known) =>
  "field:" + (["owner", "author", "user"].find((one) => fields.includes(one)) ?? "owner");
const roleOf = ({ roles }: Known) => "role:" + (roles[0] ?? "");

function Entries(
  { entries, change, known, may }: {
    entries: unknown[];
    change: (entries: unknown[]) => void;
    known: Known;
    may: Contents;
  }
) {
  const hasConditions = may === "conditions" || may === "changes";
  const rows = useKeys(entries.length);
  const set = (index: number, entry: unknown) =>
    change(entries.map((one, place) => (place === index ? entry : one)));
  const add = (entry: unknown) => change([...entries, entry]);
  return (
    <>
      {entries.map((entry, index) => {
        const n = index + 1;
        const remove = (
          <Button
            icon="trash"
            kind="quiet"
            isSmall
            label={t("Remove entry {n}", { n })}
            onPress={() => {
              rows.remove(index);
              change(entries.filter((_, place) => place !== index));
            }} />
        );
        return typeof entry === "string" ?
          (
            <div key={rows.keys[index]} className="toolbar" role="group" aria-label={t("Entry {n}", { n })}>
              <NameFields
                name={entry}
                change={(name) => set(index, name)}
                known={known}
                mayBeField={may !== "names"} />
              {remove}
            </div>
          ) :
          (
            <div key={rows.keys[index]} className="nested stack" role="group" aria-label={t("Entry {n}", { n })}>
              <div className="row">
                <span className="strong">{t("Under a condition")}</span>
                {remove}
              </div>
              {hasConditions && isRecord(entry) ?
                (
                  <ConditionFields
                    entry={entry}
                    change={(next) => set(index, next)}
                    known={known}
                    hasLimits={may === "changes"} />
                ) :
                <NotShown value={entry} />}
            </div>
          );
      })}
      <div className="row">
        {may !== "names" && (
          <Button icon="plus" isSmall onPress={() => add(ownerOf(known))}>{t("Add an owner")}</Button>
        )}
        <Button icon="plus" isSmall onPress={() => add(roleOf(known))}>{t("Add a role")}</Button>
        {hasConditions && (
          <Button
            icon="plus"
            isSmall
            onPress={() =>
              add({ who: ["authenticated"], where: { [ownerOf(known).slice("field:".length)]: "$user.id" } })}>
            {t("Add users under a condition")}
          </Button>
        )}
      </div>
    </>
  );
}

type NameKind = "field" | "role" | "user" | "authenticated" | "anyone";

const nameTitles: Record<NameKind, Text> = {
  field: "the owner, whom this field names",
  role: "members of the role",
  user: "one user",
  authenticated: "signed-in users",
  anyone: "anyone who has the app"
};

/** The kind of a name, and what stands behind its prefix. */
function partsOf(name: string): { kind: NameKind; text: string } {
  if (name === "*") return { kind: "anyone", text: "" };
  if (name === "authenticated") return { kind: "authenticated", text: "" };
  const [, prefix, text] = /^(field|role):(.*)$/s.exec(name) ?? [];
  return prefix !== undefined ? { kind: prefix as NameKind, text: text ?? "" } : { kind: "user", text: name };
}

function nameOf(kind: NameKind, text: string): string {
  switch (kind) {
    case "field":
    case "role":
      return `${kind}:${text}`;
    case "user":
      return text;
    default:
      return kind === "anyone" ? "*" : "authenticated";
  }
}

function NameFields(
  { name, change, known, mayBeField }: {
    name: string;
    change: (name: string) => void;
    known: Known;
    mayBeField: boolean;
  }
) {
  const { kind, text } = partsOf(name);
  const words = kind === "field" ? known.fields : kind === "role" ? known.roles : undefined;
  const labels: Partial<Record<NameKind, Text>> = { field: "Field", role: "Role", user: "Id of a user" };
  const label = labels[kind];
  const kinds = (Object.keys(nameTitles) as NameKind[]).filter((one) => one !== "field" || mayBeField || kind === one);
  return (
    <>
      <Select<NameKind>
        label={t("Who")}
        value={kind}
        change={(next) => {
          const starts: Partial<Record<NameKind, string>> = { field: ownerOf(known), role: roleOf(known) };
          change(starts[next] ?? nameOf(next, ""));
        }}
        options={kinds.map((one) => ({ value: one, title: t(nameTitles[one]) }))} />
      {label && (
        <span className="grow">
          <ValueInput<string>
            label={t(label)}
            value={text}
            change={(next) => change(nameOf(kind, next))}
            // A user has no id that begins like another kind.
            read={(typed) => (kind === "user" && partsOf(typed).kind !== "user" ? undefined : typed)}
            write={(value) => value}
            problem={t("This is no id of a user.")}
            words={words}
            isCode
            isRequired />
        </span>
      )}
    </>
  );
}

const entryShown = ["who", "where", "fields"];

/** An entry with a condition on the object. */
function ConditionFields(
  { entry, change, known, hasLimits }: {
    entry: Members;
    change: (entry: Members) => void;
    known: Known;
    hasLimits: boolean;
  }
) {
  const where = own(entry, "where") ?? undefined;
  const when = readPlain(where, filterGrammar);
  const who = own(entry, "who") ?? undefined;
  const isPlain = who === undefined || (Array.isArray(who) && who.every(isText));
  const showsLimits = hasLimits || own(entry, "fields") !== undefined;
  const rest = without(entry, showsLimits ? entryShown : ["who", "where"]);
  return (
    <>
      {isPlain ?
        (
          <Who
            label={t("Who")}
            list={who ?? ["*"]}
            change={(list) => change({ ...entry, who: list ?? [] })}
            known={known}
            may="fields" />
        ) :
        <NotShown value={{ who }} />}
      {when ?
        (
          <>
            <Conditions
              when={when}
              change={(next) => change({ ...entry, where: writeWhen(next) ?? {} })}
              grammar={filterGrammar}
              attributes={known.fields}
              title={t("Only objects for which this holds")}
              empty={t("All objects.")} />
            <p className="hint">
              {t("$user.id is the caller, $user.roles are the caller's roles, $now is the time.")}{" "}
              {t("$old.name and $new.name are a field before and after a change.")}
            </p>
          </>
        ) :
        <NotShown value={{ where }} />}
      {showsLimits && (
        <NamesField
          label={t("Only these fields may change")}
          value={own(entry, "fields") ?? undefined}
          change={(fields) => change(withMember(entry, "fields", fields))}
          placeholder="title, text" />
      )}
      {Object.keys(rest).length > 0 && <NotShown value={rest} />}
    </>
  );
}

// Fields and new objects

function Hidden({ rules, change, problem, known }: Part & { known: Known }) {
  const hidden = own(rules, "hidden") ?? {};
  const set = (next: Members) =>
    change(withMember(rules, "hidden", Object.keys(next).length > 0 ? next : undefined));
  return (
    <Section
      title={t("Hidden fields")}
      note={t("Only those whom you choose see the field; the others get the object without it.")}>
      {!isRecord(hidden) ? <NotShown value={{ hidden }} /> : (
        <NamedCards
          members={hidden}
          change={set}
          label={t("Name of a field to hide")}
          words={known.fields}
          start={() => [ownerOf(known)]}
          show={(name, list, put) => (
            <>
              <Who
                label={t("Who sees it")}
                list={list}
                change={(next) => put(next ?? [])}
                known={known}
                may="conditions" />
              <Wrong problem={problem} of={["hidden." + name]} />
            </>
          )} />
      )}
      <Wrong
        problem={problem}
        of={["hidden"]}
        except={isRecord(hidden) ? Object.keys(hidden).map((name) => "hidden." + name) : []} />
    </Section>
  );
}

const defaultTitles: Record<string, Text> = {
  readers: "Who may read a new object",
  writers: "Who may change a new object"
};

function NewObjects({ rules, change, problem }: Part) {
  const defaults = own(rules, "defaults") ?? {};
  const set = (next: Members) =>
    change(withMember(rules, "defaults", Object.keys(next).length > 0 ? next : undefined));
  return (
    <Section title={t("New objects")}>
      {!isRecord(defaults) ? <NotShown value={{ defaults }} /> : (
        <div className="pair">
          {Object.entries(defaultTitles).map(([name, title]) => {
            const list = own(defaults, name) ?? undefined;
            const isOwner = Array.isArray(list) && list.length === 1 && list[0] === "owner";
            return list === undefined || isOwner ?
              (
                <Choice
                  key={name}
                  label={t(title)}
                  value={isOwner ? "owner" : "rules"}
                  change={(next) => set(withMember(defaults, name, next === "owner" ? ["owner"] : undefined))}
                  options={[
                    { value: "rules", title: t("everyone whom the rules allow") },
                    { value: "owner", title: t("only the user who creates it") }
                  ]} />
              ) :
              <NotShown key={name} value={{ [name]: list }} />;
          })}
        </div>
      )}
      {isRecord(defaults) && Object.keys(without(defaults, Object.keys(defaultTitles))).length > 0 && (
        <NotShown value={defaults} />
      )}
      <NamesField
        label={t("Fields that stay as they were created")}
        value={own(rules, "immutable") ?? undefined}
        change={(names) => change(withMember(rules, "immutable", names))}
        placeholder="post" />
      <Wrong problem={problem} of={["defaults", "immutable"]} />
    </Section>
  );
}
