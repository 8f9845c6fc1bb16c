// The screens of a configuration: a tree, the properties of what is chosen in it, and a preview.

import { useState } from "react";
import { usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, Section, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { go, useAddress } from "../system/router";
import { t } from "../text";
import {
  Catalogue,
  classOf,
  coloursIn,
  extended,
  kindOf,
  objectsOf,
  Screen,
  ScreenObject,
  screensIn,
  useCatalogue
} from "./catalogue";
import { PropertyEditor } from "./PropertyEditor";
import { ScreenPreview } from "./ScreenPreview";

interface Properties {
  name: string;
  draft: any;
  change: (draft: any) => void;
  isReadOnly: boolean;
}

export function Screens(given: Properties) {
  const catalogue = useCatalogue();
  return <Show from={catalogue}>{(found) => <Editor {...given} builtIn={found} />}</Show>;
}

function Editor({ name, draft, change, isReadOnly, builtIn }: Properties & { builtIn: Catalogue }) {
  const place = usePlace();
  const { query } = useAddress();
  const catalogue = extended(builtIn, draft.catalogue);
  const screens = screensIn(draft);
  const [adding, add] = useState<"screen" | "element" | null>(null);
  const at = screens.find((one) => one.name === query.get("screen")) ?? screens[0];
  const object = at && objectsOf(at).find((one) => one.objectName === query.get("element"));
  const address = (screen: string, element?: string) =>
    place.to("configuration/" + encodeURIComponent(name), { tab: "screens", screen, element });
  const setScreens = (next: Screen[]) => change({ ...draft, controllers: next });
  const setScreen = (next: Screen) => setScreens(screens.map((one) => (one === at ? next : one)));
  const setObjects = (next: ScreenObject[]) => at && setScreen({ ...at, objectsList: next });
  const newScreen = !isReadOnly && <Button icon="plus" isSmall onPress={() => add("screen")}>{t("New screen")}</Button>;
  const remove = () => {
    if (object && at) setObjects(objectsOf(at).filter((one) => one !== object));
    else setScreens(screens.filter((one) => one !== at));
    go(address(object ? at?.name ?? "" : ""), { replace: true });
  };
  const dialog = adding && (
    <Add
      kind={adding}
      catalogue={catalogue}
      screens={screens}
      taken={adding === "screen" || !at ? screens.map((one) => one.name) : objectsOf(at).map((one) => one.objectName)}
      close={() => add(null)}
      add={(made, kind, parent) => {
        add(null);
        if (adding === "screen") {
          setScreens([
            ...screens,
            { name: made, parent: parent || "0", classType: kind, classProperties: {}, objectsList: [] }
          ]);
          go(address(made));
        } else if (at) {
          setObjects([...objectsOf(at), { objectName: made, objectType: kind, objectProperties: {} }]);
          go(address(at.name ?? "", made));
        }
      }} />
  );
  if (!at) {
    return (
      <>
        <Empty icon="config" title={t("No screens")} action={newScreen}>
          {t("A screen has properties of its own, and elements whose texts and colours the server decides.")}
        </Empty>
        {dialog}
      </>
    );
  }
  const kind = object ? kindOf(object) : classOf(at);
  const screenName = at.name ?? "";
  return (
    <div className="workspace">
      <nav className="shelf" aria-label={t("Screens")}>
        {inOrder(screens).map(({ screen, depth }) => (
          <div key={screen.name} style={{ paddingLeft: depth * 12 }}>
            <Link to={address(screen.name ?? "")} current={screen === at && !object}>
              <span>{screen.name}</span>
            </Link>
            {screen === at && objectsOf(screen).map((one) => (
              <div key={one.objectName} style={{ paddingLeft: 12 }}>
                <Link to={address(screenName, one.objectName)} current={one === object}>
                  <span>{one.objectName}</span>
                </Link>
              </div>
            ))}
          </div>
        ))}
        <div className="row">
          {newScreen}
          {!isReadOnly && <Button icon="plus" isSmall onPress={() => add("element")}>{t("New element")}</Button>}
        </div>
      </nav>
      <div className="split">
        <Section
          title={
            <>
              {object ? object.objectName : at.name} <Badge>{kind}</Badge>
            </>
          }
          note={object?.objectDesc}
          actions={!isReadOnly && <Button isSmall onPress={remove}>{t("Remove")}</Button>}>
          <PropertyEditor
            key={screenName + "/" + (object?.objectName ?? "")}
            label={t("Properties of {name}", { name: (object ? object.objectName : at.name) ?? "" })}
            catalogue={catalogue}
            kind={kind}
            colours={coloursIn(draft)}
            isReadOnly={isReadOnly}
            properties={(object ? object.objectProperties : at.classProperties) ?? {}}
            change={(next) =>
              object ?
                setObjects(objectsOf(at).map((one) => (one === object ? { ...one, objectProperties: next } : one))) :
                setScreen({ ...at, classProperties: next })} />
        </Section>
        <aside>
          <ScreenPreview draft={draft} catalogue={catalogue} name={screenName} chosen={object?.objectName} />
        </aside>
      </div>
      {dialog}
    </div>
  );
}

/** Each screen below its parent. Screens in a cycle come last. */
function inOrder(screens: Screen[]): { screen: Screen; depth: number }[] {
  const found: { screen: Screen; depth: number }[] = [];
  const isBelow = (screen: Screen, parent: string | undefined) =>
    parent === undefined ? !screens.some((one) => one.name === screen.parent) : screen.parent === parent;
  const visit = (parent: string | undefined, depth: number) => {
    for (const screen of screens) {
      if (!isBelow(screen, parent) || found.some((one) => one.screen === screen)) continue;
      found.push({ screen, depth });
      visit(screen.name, depth + 1);
    }
  };
  visit(undefined, 0);
  return [
    ...found,
    ...screens.filter((screen) => !found.some((one) => one.screen === screen)).map((screen) => ({ screen, depth: 0 }))
  ];
}

function Add(
  { kind, catalogue, screens, taken, close, add }: {
    kind: "screen" | "element";
    catalogue: Catalogue;
    screens: Screen[];
    taken: (string | undefined)[];
    close: () => void;
    add: (name: string, type: string, parent: string) => void;
  }
) {
  const isScreen = kind === "screen";
  const [name, setName] = useState("");
  const [type, setType] = useState(isScreen ? "UIViewController" : "UILabel");
  const [parent, setParent] = useState("");
  const kinds = Object.keys(catalogue).sort();
  const isTaken = taken.includes(name);
  return (
    <Dialog title={isScreen ? t("New screen") : t("New element")} close={close}>
      <Form
        send={async () => add(name, type, parent)}
        action={t("Add")}
        cancel={close}
        isDisabled={isTaken}>
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          isRequired
          autoFocus
          isCode
          hint={isScreen ? t("The name of its class in the app.") : t("The name of the property in the app.")}
          error={isTaken ? t("This name is taken.") : undefined} />
        <Choice
          label={t("Kind")}
          value={type}
          change={setType}
          options={kinds.map((one) => ({ value: one, title: one }))} />
        {isScreen && screens.length > 0 && (
          <Choice
            label={t("Below")}
            value={parent}
            change={setParent}
            options={[
              { value: "", title: t("None") },
              ...screens.map((one) => ({ value: one.name ?? "", title: one.name ?? "" }))
            ]} />
        )}
      </Form>
    </Dialog>
  );
}
