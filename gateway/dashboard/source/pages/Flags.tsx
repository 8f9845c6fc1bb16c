// Flags: the document `flags/default` as a table of switches; rules and JSON of each in a dialog.

import { useState } from "react";
import { usePlace } from "../shell/place";
import { Badge, Button, Empty, Menu } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { lazy } from "../system/lazy";
import { own } from "../system/own";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { plural, t } from "../text";
import { Value } from "./Configuration";
import { DocumentPage } from "./DocumentEditor";
import type { FlagView } from "./FlagEditor";
import type { Flag } from "./flagRules";

const FlagEditor = lazy(async () => (await import("./FlagEditor")).FlagEditor);
const FlagGroups = lazy(async () => (await import("./FlagGroups")).FlagGroups);

export function FlagsPage() {
  const place = usePlace();
  const isReadOnly = !place.may("config", "update");
  return (
    <DocumentPage
      kind="flags"
      name="default"
      title={t("Flags")}
      area="config"
      start={{ flags: {} }}
      note={t("Typed values that the server decides by rules. Publish to put changes into effect.")}
      views={[
        {
          name: "flags",
          title: t("Flags"),
          show: (draft, change) => <FlagTable {...{ draft, change, isReadOnly }} />
        },
        {
          name: "groups",
          title: t("Conditions and groups"),
          show: (draft, change) => <FlagGroups {...{ draft, change, isReadOnly }} />
        }
      ]} />
  );
}

function FlagTable({ draft, change, isReadOnly }: { draft: any; change: (draft: any) => void; isReadOnly: boolean }) {
  const flags: Record<string, Flag> = draft.flags ?? {};
  const [isNew, setNew] = useState(false);
  const { query } = useAddress();
  const edited = query.get("flag") ?? "";
  const edit = (name: string, view?: FlagView) => setQuery({ flag: name, view: view === "json" ? view : "" });
  const rows = Object.entries(flags).sort(([a], [b]) => a.localeCompare(b));
  const set = (name: string, next: Flag) => change({ ...draft, flags: { ...flags, [name]: next } });
  const remove = (name: string) => {
    const { [name]: _, ...rest } = flags;
    change({ ...draft, flags: rest });
  };
  const add = !isReadOnly && <Button icon="plus" onPress={() => setNew(true)}>{t("New flag")}</Button>;
  return (
    <div className="stack">
      {rows.length > 0 && <div className="toolbar">{add}</div>}
      <Table
        label={t("Flags")}
        rows={rows}
        id={([name]) => name}
        empty={
          <Empty icon="flag" title={t("No flags yet")} action={add}>
            {t("A flag turns a feature on for some or for all, without a new build.")}
          </Empty>
        }
        columns={[
          {
            name: "name",
            title: t("Flag"),
            cell: ([name, flag]) => (
              <span className="two-lines">
                <code>{name}</code>
                {flag.description && <span className="faint">{flag.description}</span>}
              </span>
            )
          },
          {
            name: "type",
            title: t("Type"),
            width: "110px",
            isExtra: true,
            cell: ([, flag]) => <Badge>{flag.type ?? "json"}</Badge>
          },
          {
            name: "default",
            title: t("Default"),
            width: "260px",
            cell: ([name, flag]) => (
              <Value
                value={flag.default}
                label={t("Default of {name}", { name })}
                isReadOnly={isReadOnly}
                change={(next) => set(name, { ...flag, default: next })} />
            )
          },
          {
            name: "rules",
            title: t("Rules"),
            width: "130px",
            isExtra: true,
            cell: ([name, flag]) => (
              <button type="button" className="link" onClick={() => edit(name)}>
                {flag.rules?.length ? plural(flag.rules.length, "{n} rule", "{n} rules") : t("none")}
                <span className="hidden">{t("Rules of {name}", { name })}</span>
              </button>
            )
          },
          {
            name: "menu",
            title: "",
            width: "56px",
            cell: ([name]) => (
              <Menu
                label={t("More about {name}", { name })}
                items={[
                  { title: t("Rules…"), act: () => edit(name) },
                  { title: t("Edit as JSON…"), act: () => edit(name, "json"), isHidden: isReadOnly },
                  { title: t("Remove"), act: () => remove(name), isDanger: true, isHidden: isReadOnly }
                ]} />
            )
          }
        ]} />
      {own(flags, edited) && (
        <FlagEditor
          key={edited}
          name={edited}
          flag={flags[edited] ?? {}}
          document={draft}
          first={query.get("view") === "json" ? "json" : "rules"}
          isReadOnly={isReadOnly}
          close={() => edit("")}
          keep={(flag) => {
            set(edited, flag);
            edit("");
          }} />
      )}
      {isNew && (
        <NewFlag
          taken={Object.keys(flags)}
          close={() => setNew(false)}
          add={(name, flag) => {
            set(name, flag);
            setNew(false);
          }} />
      )}
    </div>
  );
}

// The same as in flagRules.ts, which is not imported here because it is loaded only with the editor.
const initialValues = { boolean: false, string: "", number: 0, json: {} } as const;
type FlagType = keyof typeof initialValues;

function NewFlag(
  { taken, close, add }: { taken: string[]; close: () => void; add: (name: string, flag: Flag) => void }
) {
  const [name, setName] = useState("");
  const [type, setType] = useState<FlagType>("boolean");
  const [description, setDescription] = useState("");
  const isTaken = taken.includes(name);
  return (
    <Dialog title={t("New flag")} close={close}>
      <Form
        action={t("Add")}
        cancel={close}
        isDisabled={isTaken}
        send={async () => add(name, { type, default: initialValues[type], ...(description ? { description } : {}) })}>
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          isRequired
          autoFocus
          isCode
          placeholder="new-checkout"
          error={isTaken ? t("This name is taken.") : undefined} />
        <Choice
          label={t("Type")}
          value={type}
          change={setType}
          options={(Object.keys(initialValues) as FlagType[]).map((one) => ({ value: one, title: one }))} />
        <TextField label={t("Description")} value={description} change={setDescription} isOptional />
      </Form>
    </Dialog>
  );
}
