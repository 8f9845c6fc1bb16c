// A screen of a configuration as a phone may show it: its elements below each other, because only the app knows their
// places.

import { ReactNode } from "react";
import { own } from "../system/own";
import { t } from "../text";
import {
  Catalogue,
  classOf,
  Colour,
  coloursIn,
  cssColour,
  isDark,
  kindOf,
  lineage,
  objectsOf,
  ScreenObject,
  screensIn
} from "./catalogue";

type Properties = Record<string, unknown>;

const text = (value: unknown): string => typeof value === "string" || typeof value === "number" ? String(value) : "";
/** Numbers and switches may be texts: the first dashboard wrote them so. */
const amount = (value: unknown): number | undefined =>
  value === "" || value === undefined || value === null || Number.isNaN(Number(value)) ? undefined : Number(value);
const isOn = (value: unknown): boolean => [true, 1, "1", "true", "True"].includes(value as string);
const list = (value: unknown): string[] => Array.isArray(value) ? value.map(text) : [];

export function ScreenPreview(
  { draft, catalogue, name, chosen, theme }: {
    draft: unknown;
    catalogue: Catalogue;
    name: string;
    chosen?: string;
    theme?: string;
  }
) {
  const screen = screensIn(draft).find((one) => one.name === name);
  const colours = coloursIn(draft);
  if (!screen) return <p className="hint">{t("This theme has no screen with this name.")}</p>;
  const properties = screen.classProperties ?? {};
  const objects = objectsOf(screen);
  const shown = objects.filter((one) => !isOn(one.objectProperties?.["isHidden"]));
  const label = t("{name} as a phone shows it", { name: theme ? `${name}, ${theme}` : name });
  return (
    <div className="stack">
      <div className="phone" role="img" aria-label={label}>
        <div
          className={"phone-screen" + (isDark(colours, properties["backgroundColor"]) ? " dark" : "")}
          aria-hidden="true"
          style={look(properties, colours)}>
          <div className="phone-bar">{text(properties["title"]) || name}</div>
          {lineage(catalogue, classOf(screen)).includes("UITableViewController") && shown.length === 0 && <Rows />}
          {shown.map((object, index) => (
            <div
              key={index}
              className={"phone-element" + (object.objectName === chosen ? " chosen" : "")}
              style={look(object.objectProperties ?? {}, colours)}>
              {element(object, catalogue, colours)}
            </div>
          ))}
        </div>
      </div>
      <p className="hint">
        {t("Colours and texts are real. The app decides where elements are placed.")}{" "}
        {shown.length < objects.length && t("{n} hidden.", { n: objects.length - shown.length })}
      </p>
    </div>
  );
}

/** What every element and screen may have. */
function look(properties: Properties, colours: Colour[]) {
  const border = amount(properties["borderWidth"]);
  return {
    background: cssColour(colours, properties["backgroundColor"]),
    opacity: amount(properties["alpha"]) ?? amount(properties["opacity"]),
    border: border ? `${border}px solid ${cssColour(colours, properties["borderColor"]) ?? "currentColor"}` : undefined,
    borderRadius: amount(properties["cornerRadius"])
  };
}

function letters(properties: Properties, colours: Colour[]) {
  const weights: Record<string, number> = { light: 300, medium: 500, semibold: 600, bold: 700, heavy: 800, black: 900 };
  const alignment = text(properties["textAlignment"] ?? properties["multilineTextAlignment"]);
  return {
    color: cssColour(
      colours,
      properties["textColor"] ?? properties["titleColor"] ?? properties["foregroundColor"] ?? properties["tintColor"]
    ),
    fontSize: Math.min(amount(properties["fontSize"]) ?? 15, 40),
    fontWeight: own(weights, text(properties["fontWeight"])),
    textAlign: (["left", "center", "right"] as const).find((one) => one === alignment)
  };
}

type Draw = (properties: Properties, name: string, colours: Colour[]) => ReactNode;

const input: Draw = (properties, name, colours) => (
  <span className="phone-input" style={letters(properties, colours)}>
    {text(properties["text"]) || text(properties["placeholder"]) || text(properties["title"]) || name}
  </span>
);
const words: Draw = (properties, name, colours) => (
  <span className="phone-words" style={letters(properties, colours)}>
    {text(properties["text"]) || text(properties["title"]) || name}
  </span>
);
const button: Draw = (properties, name, colours) => (
  <span className="phone-button" style={letters(properties, colours)}>{text(properties["title"]) || name}</span>
);
const toggle: Draw = (properties, name, colours) => (
  <span className="phone-line">
    {text(properties["title"]) || name}
    <i
      className={"phone-switch" + (isOn(properties["isOn"]) ? " on" : "")}
      style={{ background: isOn(properties["isOn"]) ? cssColour(colours, properties["onTintColor"]) : undefined }} />
  </span>
);
const bar: Draw = (properties, _, colours) => {
  const [low, high] = [amount(properties["minimumValue"]) ?? 0, amount(properties["maximumValue"]) ?? 1];
  const value = amount(properties["value"] ?? properties["progress"]) ?? low;
  const share = high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;
  const tint = properties["minimumTrackTintColor"] ?? properties["progressTintColor"] ?? properties["tintColor"];
  return (
    <span className="bar-track">
      <span style={{ width: `${share * 100}%`, background: cssColour(colours, tint) }} />
    </span>
  );
};
const segments: Draw = (properties, name) => {
  const titles = list(properties["segments"] ?? properties["items"] ?? properties["options"]);
  return (
    <span className="phone-segments">
      {(titles.length > 0 ? titles : [name]).map((title, index) => <span key={index}>{title}</span>)}
    </span>
  );
};
const row: Draw = (properties, name, colours) => (
  <span className="phone-line">
    <span style={{ color: cssColour(colours, properties["textColor"]) }}>{text(properties["text"]) || name}</span>
    <span style={{ color: cssColour(colours, properties["detailTextColor"]) }}>{text(properties["detailText"])}</span>
  </span>
);
const picture: Draw = (properties, name) => (
  <span className="phone-picture">
    {text(properties["image"] ?? properties["systemImage"] ?? properties["systemName"] ?? properties["imageURL"]) ||
      name}
  </span>
);

/** By kind; a kind that is not here is drawn as the nearest that it inherits from. */
const drawings: Record<string, Draw> = {
  UILabel: words,
  Text: words,
  Label: words,
  UIButton: button,
  Button: button,
  Link: button,
  Menu: button,
  UITextField: input,
  UITextView: input,
  UISearchBar: input,
  TextField: input,
  TextEditor: input,
  UIDatePicker: input,
  DatePicker: input,
  UISwitch: toggle,
  Toggle: toggle,
  UISlider: bar,
  UIStepper: bar,
  UIProgressView: bar,
  Slider: bar,
  ProgressView: bar,
  UISegmentedControl: segments,
  UIPickerView: segments,
  Picker: segments,
  UITableViewCell: row,
  UIImageView: picture,
  Image: picture,
  AsyncImage: picture,
  MKMapView: picture,
  Map: picture,
  WKWebView: picture,
  UITableView: () => <Rows />,
  UICollectionView: () => <Rows />,
  List: () => <Rows />
};

function element(object: ScreenObject, catalogue: Catalogue, colours: Colour[]): ReactNode {
  const kind = kindOf(object);
  const draw = [kind, ...lineage(catalogue, kind)].map((one) => own(drawings, one)).find(Boolean);
  const name = object.objectName ?? "";
  return draw ? draw(object.objectProperties ?? {}, name, colours) : <span className="phone-other">{name} {kind}</span>;
}

function Rows() {
  return (
    <span className="phone-rows">
      <i />
      <i />
      <i />
    </span>
  );
}
