// Remote configuration: documents by version and theme, with their colours as swatches.

import { useState } from "react";
import { usePlace } from "../shell/place";
import { Button, Empty } from "../system/basics";
import { lazy } from "../system/lazy";
import { t } from "../text";
import { DocumentList, NewDocument } from "./document";
import type { Colour } from "./catalogue";
import { DocumentPage } from "./DocumentEditor";

const Screens = lazy(async () => (await import("./ConfigurationScreens")).Screens);
const Themes = lazy(async () => (await import("./ConfigurationThemes")).Themes);

export function ConfigurationsPage() {
  const [isNew, setNew] = useState(false);
  return (
    <>
      <DocumentList
        kind="configuration"
        page="configuration"
        area="config"
        title={t("Remote configuration")}
        note={t("Settings and looks of a published app. Clients get the live version of their app version and theme.")}
        empty={t("A configuration holds settings, colours and screens for one version of the app.")}
        make={<Button kind="primary" icon="plus" onPress={() => setNew(true)}>{t("New configuration")}</Button>} />
      {isNew && (
        <NewDocument
          kind="configuration"
          page="configuration"
          title={t("New configuration")}
          label={t("App version, and theme")}
          placeholder="1.2.0~Dark"
          hint={t("Versions without one get that of the newest older version.")}
          start={() => ({ mainSettings: {}, colors: [] })}
          close={() => setNew(false)} />
      )}
    </>
  );
}

export function ConfigurationPage({ name }: { name: string }) {
  const place = usePlace();
  return (
    <DocumentPage
      kind="configuration"
      name={name}
      area="config"
      back={{ to: place.to("configuration"), title: t("Remote configuration") }}
      views={[
        {
          name: "colours",
          title: t("Colours"),
          show: (draft, change) => <Colours draft={draft} change={change} isReadOnly={!place.may("config", "update")} />
        },
        {
          name: "settings",
          title: t("Settings"),
          show: (draft, change) => <Values draft={draft} change={change} isReadOnly={!place.may("config", "update")} />
        },
        {
          name: "screens",
          title: t("Screens"),
          show: (draft, change) => (
            <Screens name={name} draft={draft} change={change} isReadOnly={!place.may("config", "update")} />
          )
        },
        {
          name: "themes",
          title: t("Themes"),
          show: (draft) => <Themes name={name} draft={draft} isReadOnly={!place.may("config", "create")} />
        }
      ]} />
  );
}

const hex = (colour: Colour) =>
  "#" +
  [colour.red, colour.green, colour.blue].map((one) =>
    Math.min(255, Math.max(0, Math.round(one || 0))).toString(16).padStart(2, "0")
  ).join("");

function Colours({ draft, change, isReadOnly }: { draft: any; change: (draft: any) => void; isReadOnly: boolean }) {
  const colours: Colour[] = Array.isArray(draft.colors) ? draft.colors : [];
  const set = (index: number, next: Partial<Colour>) =>
    change({ ...draft, colors: colours.map((one, place) => (place === index ? { ...one, ...next } : one)) });
  const add = () => {
    let number = colours.length + 1;
    while (colours.some((one) => one.name === "colour" + number)) number++;
    change({ ...draft, colors: [...colours, { name: "colour" + number, red: 11, green: 107, blue: 105, alpha: 1 }] });
  };
  const parse = (text: string) => ({
    red: parseInt(text.slice(1, 3), 16),
    green: parseInt(text.slice(3, 5), 16),
    blue: parseInt(text.slice(5, 7), 16)
  });
  const button = !isReadOnly && <Button icon="plus" onPress={add}>{t("Add a colour")}</Button>;
  if (colours.length === 0) {
    return (
      <Empty icon="config" title={t("No colours")} action={button}>
        {t("Screens refer to colours by name, so that a theme changes them in one place.")}
      </Empty>
    );
  }
  return (
    <div className="stack">
      <div className="swatches">
        {colours.map((colour, index) => (
          <div className="swatch" key={index}>
            <input
              type="color"
              value={hex(colour)}
              disabled={isReadOnly}
              aria-label={t("Colour {name}", { name: colour.name })}
              onChange={(event) => set(index, parse(event.currentTarget.value))} />
            <input
              type="text"
              value={colour.name}
              disabled={isReadOnly}
              aria-label={t("Name")}
              onChange={(event) => set(index, { name: event.currentTarget.value })} />
            {!isReadOnly && (
              <Button
                icon="trash"
                kind="quiet"
                isSmall
                label={t("Remove")}
                onPress={() => change({ ...draft, colors: colours.filter((_, place) => place !== index) })} />
            )}
          </div>
        ))}
      </div>
      <div>{button}</div>
    </div>
  );
}

/** The main settings as names and values; a value is JSON, or a text as it is. */
function Values({ draft, change, isReadOnly }: { draft: any; change: (draft: any) => void; isReadOnly: boolean }) {
  const settings: Record<string, unknown> = draft.mainSettings ?? {};
  const [name, setName] = useState("");
  const entries = Object.entries(settings);
  const set = (key: string, value: unknown) => change({ ...draft, mainSettings: { ...settings, [key]: value } });
  const remove = (key: string) => {
    const { [key]: _, ...rest } = settings;
    change({ ...draft, mainSettings: rest });
  };
  return (
    <div className="stack">
      {entries.length === 0 && (
        <Empty icon="config" title={t("No settings")}>
          {t("A setting is a name with a value that the app reads at its start.")}
        </Empty>
      )}
      {entries.length > 0 && (
        <div className="table">
          <table aria-label={t("Settings")}>
            <tbody>
              {entries.map(([key, value]) => (
                <tr key={key}>
                  <td style={{ width: "34%" }}>
                    <code>{key}</code>
                  </td>
                  <td>
                    <Value value={value} label={key} change={(next) => set(key, next)} isReadOnly={isReadOnly} />
                  </td>
                  <td style={{ width: 56 }}>
                    {!isReadOnly && (
                      <Button
                        icon="trash"
                        kind="quiet"
                        isSmall
                        label={t("Remove")}
                        onPress={() => remove(key)} />
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {!isReadOnly && (
        <div className="toolbar">
          <span style={{ width: 240 }}>
            <input
              value={name}
              placeholder={t("Name of a new setting")}
              aria-label={t("Name of a new setting")}
              onChange={(event) => setName(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && name && !(name in settings)) {
                  set(name, "");
                  setName("");
                }
              }} />
          </span>
          <Button
            icon="plus"
            isDisabled={!name || name in settings}
            onPress={() => {
              set(name, "");
              setName("");
            }}>
            {t("Add")}
          </Button>
        </div>
      )}
    </div>
  );
}

export function Value(
  { value, label, change, isReadOnly }: {
    value: unknown;
    label: string;
    change: (value: unknown) => void;
    isReadOnly?: boolean;
  }
) {
  if (typeof value === "boolean") {
    return (
      <label className="check">
        <input
          type="checkbox"
          checked={value}
          disabled={isReadOnly}
          aria-label={label}
          onChange={(event) => change(event.currentTarget.checked)} />
      </label>
    );
  }
  const read = (text: string) => {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  };
  const shown = typeof value === "string" ? value : JSON.stringify(value);
  return (
    <input
      className="code"
      value={shown}
      disabled={isReadOnly}
      aria-label={label}
      onChange={(event) =>
        change(typeof value === "string" && event.currentTarget.value === "" ? "" : read(event.currentTarget.value))} />
  );
}
