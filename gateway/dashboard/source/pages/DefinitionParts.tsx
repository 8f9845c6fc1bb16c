// An app definition as a tree: each part as JSON with completion, beside what a phone shows.

import { useState } from "react";
import { usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, Section } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { JSONEditor, parse, pretty } from "../system/json";
import { go, useAddress } from "../system/router";
import { t, Text } from "../text";
import { Branch, Definition, Group, groups, partOf, partsOf, treeOf, wordsIn } from "./definition";
import { DefinitionPreview } from "./DefinitionPreview";

const titles: Record<Group, Text> = { controllers: "Controller", views: "View", models: "Data" };
const initialValues: Record<Group, unknown> = {
  controllers: { title: "", render: "" },
  views: { contents: [{ kind: "LabelView", text: "" }] },
  models: []
};

export function Parts(
  { name, draft, change, isReadOnly }: {
    name: string;
    draft: Definition;
    change: (draft: Definition) => void;
    isReadOnly: boolean;
  }
) {
  const place = usePlace();
  const { query } = useAddress();
  const [isNew, setNew] = useState(false);
  const tree = treeOf(draft);
  const wanted = query.get("part");
  const at = tree.find((one) => `${one.group}/${one.name}` === wanted) ?? tree[0];
  const address = (branch: { group: Group; name: string }) =>
    place.to("definitions/" + encodeURIComponent(name), { tab: "parts", part: `${branch.group}/${branch.name}` });
  const set = (branch: Branch, value: unknown) =>
    change({ ...draft, [branch.group]: { ...partsOf(draft, branch.group), [branch.name]: value } } as Definition);
  const remove = (branch: Branch) => {
    const { [branch.name]: _, ...rest } = partsOf(draft, branch.group);
    change({ ...draft, [branch.group]: rest } as Definition);
    go(place.to("definitions/" + encodeURIComponent(name), { tab: "parts" }), { replace: true });
  };
  const add = !isReadOnly && <Button icon="plus" isSmall onPress={() => setNew(true)}>{t("New part")}</Button>;
  const dialog = isNew && (
    <NewPart
      definition={draft}
      close={() => setNew(false)}
      add={(group, made) => {
        setNew(false);
        set({ group, name: made, depth: 0 }, initialValues[group]);
        go(address({ group, name: made }));
      }} />
  );
  if (!at) {
    return (
      <>
        <Empty icon="code" title={t("No parts yet")} action={add}>
          {t("A definition has screens, the views that they show, and data.")}
        </Empty>
        {dialog}
      </>
    );
  }
  const value = partOf(draft, at.group, at.name);
  return (
    <div className="workspace">
      <nav className="shelf" aria-label={t("Parts")}>
        {tree.map((one) => (
          <div key={`${one.group}/${one.name}`} style={{ paddingLeft: one.depth * 12 }}>
            <Link to={address(one)} current={one === at}>
              <span>{one.name}</span>
              <span className="faint">{t(titles[one.group])}</span>
            </Link>
          </div>
        ))}
        <div className="row">{add}</div>
      </nav>
      <div className="split">
        <Section
          title={
            <>
              {at.name} <Badge>{t(titles[at.group])}</Badge>
            </>
          }
          actions={!isReadOnly && <Button isSmall onPress={() => remove(at)}>{t("Remove")}</Button>}>
          <PartEditor
            key={`${at.group}/${at.name}`}
            definition={draft}
            label={`${at.group}/${at.name}`}
            value={value}
            isReadOnly={isReadOnly}
            change={(next) => set(at, next)} />
        </Section>
        {at.group !== "models" && (
          <aside className="stack">
            <DefinitionPreview
              definition={draft}
              controller={at.group === "controllers" ? at.name : undefined}
              view={at.group === "views" ? at.name : undefined} />
            <p className="hint">{t("Data from the server are not loaded; their bindings are shown instead.")}</p>
          </aside>
        )}
      </div>
      {dialog}
    </div>
  );
}

/** The draft gets a part when it is JSON. Until then only this editor has it. */
function PartEditor(
  { definition, label, value, isReadOnly, change }: {
    definition: Definition;
    label: string;
    value: unknown;
    isReadOnly: boolean;
    change: (value: unknown) => void;
  }
) {
  const [text, setText] = useState(pretty(value));
  const written = parse(text);
  // The draft was discarded, or changed elsewhere.
  const isOld = written.error === undefined && JSON.stringify(written.value) !== JSON.stringify(value);
  return (
    <JSONEditor
      label={label}
      text={isOld ? pretty(value) : text}
      words={wordsIn(definition)}
      isReadOnly={isReadOnly}
      lines={28}
      change={(next) => {
        setText(next);
        const parsed = parse(next);
        if (parsed.error === undefined) change(parsed.value);
      }} />
  );
}

function NewPart(
  { definition, close, add }: { definition: Definition; close: () => void; add: (group: Group, name: string) => void }
) {
  const [group, setGroup] = useState<Group>("views");
  const [name, setName] = useState("");
  const isTaken = partOf(definition, group, name) !== undefined;
  return (
    <Dialog title={t("New part")} close={close}>
      <Form send={async () => add(group, name)} action={t("Add")} cancel={close} isDisabled={isTaken}>
        <Choice
          label={t("Kind")}
          value={group}
          change={setGroup}
          options={groups.map((one) => ({ value: one, title: t(titles[one]) }))} />
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          isRequired
          autoFocus
          isCode
          placeholder="EventDetailView"
          error={isTaken ? t("This name is taken.") : undefined} />
      </Form>
    </Dialog>
  );
}
