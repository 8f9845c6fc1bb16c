// A screen of an app definition as HTML, as `HTMLDefinitionRenderer` of MartletKit draws it. Data come from models
// within the definition; where there are none, the binding stands in their place.

import { ReactNode } from "react";
import { t } from "../text";
import { contentsOf, Definition, Node, partOf, viewOf } from "./definition";

/** Views within views; the server refuses more. */
const deepest = 32;
/** Views that are drawn at most: one that is named in many places counts in each. */
const most = 1000;

interface Drawing {
  definition: Definition;
  count: number;
}

export function DefinitionPreview(
  { definition, controller, view }: { definition: Definition; controller?: string; view?: string }
) {
  const shown = controller === undefined ?
    undefined :
    partOf(definition, "controllers", controller) as Node | undefined;
  const root = viewOf(definition, view ?? shown?.["render"]);
  const title = shown ? textOf(shown["title"], undefined) : view ?? "";
  const drawing = { definition, count: 0 };
  const drawn = root && draw(drawing, root, undefined, false, []);
  return (
    <div className="stack">
      <div
        className="phone"
        role="img"
        aria-label={t("{name} as a phone shows it", { name: controller ?? view ?? "" })}>
        <div className="phone-screen" aria-hidden="true">
          <div className="phone-bar">{title || controller}</div>
          {drawn}
        </div>
      </div>
      {drawing.count > most && <p className="hint">{t("Only the first {n} views are drawn.", { n: most })}</p>}
    </div>
  );
}

/** Draws a view unless it is within itself. `above` has the views that it is within. */
function draw(drawing: Drawing, node: Node, model: unknown, isInRow: boolean, above: readonly Node[]): ReactNode {
  drawing.count += 1;
  if (drawing.count > most || above.length > deepest || above.includes(node) || node["hidden"] === true) return null;
  const { definition } = drawing;
  const path = [...above, node];
  const kind = typeof node["kind"] === "string" ? node["kind"] : "View";
  const isRow = node["orientation"] === "horizontal";
  const style = { ...layout(node, isInRow), ...letters(node) };
  const inside = () =>
    contentsOf(definition, node).map((one, index) => (
      <Part key={index}>{draw(drawing, one.view, model, isRow, path)}</Part>
    ));
  switch (kind) {
    case "LabelView":
      return <div style={{ ...style, whiteSpace: "pre-line" }}>{textOf(node["text"], model)}</div>;
    case "ButtonView":
      return <div className="phone-button" style={style}>{textOf(node["title"], model)}</div>;
    case "ImageView":
      return <div className="phone-picture" style={style}>{textOf(node["url"], model)}</div>;
    case "MapView":
      return <div className="phone-picture" style={style}>{textOf(node["title"], model) || kind}</div>;
    case "ListView":
      return <div className="phone-stack" style={style}>{rows(drawing, node, model, path)}</div>;
    case "TextField":
    case "DatePicker":
    case "Picker":
      return (
        <div className="phone-input" style={style}>
          {textOf(node["placeholder"] ?? node["title"] ?? node["value"], model) || textOf(node["field"], model)}
        </div>
      );
    case "Toggle":
      return (
        <div className="phone-line" style={style}>
          {textOf(node["title"], model) || textOf(node["field"], model)}
          <i className={"phone-switch" + (node["value"] === true ? " on" : "")} />
        </div>
      );
    case "View":
    case "Form":
      return <div className={"phone-stack" + (isRow ? " horizontal" : "")} style={style}>{inside()}</div>;
    default: {
      const fallback = viewOf(definition, node["fallback"]);
      if (fallback) return draw(drawing, fallback, model, isInRow, path);
      return <div className="phone-other" style={style}>{kind}{inside()}</div>;
    }
  }
}

const Part = ({ children }: { children?: ReactNode }) => <>{children}</>;

/** The rows of a list: of its model, if that is within the definition, and otherwise two that show the bindings. */
function rows(drawing: Drawing, node: Node, model: unknown, path: readonly Node[]): ReactNode[] {
  const { definition } = drawing;
  const row = viewOf(definition, node["row_view"]);
  const name = node["items_model"];
  const stored = typeof name === "string" ? partOf(definition, "models", name) ?? valueOf(name, model) : name;
  const items: unknown[] = Array.isArray(stored) ? stored.slice(0, 20) : [undefined, undefined];
  if (!row) return [];
  return items.map((item, index) => <Part key={index}>{draw(drawing, row, item, false, path)}</Part>);
}

const points = (value: unknown): number | undefined =>
  typeof value === "number" && Math.abs(value) < 10_000 ? value : undefined;

function layout(node: Node, isInRow: boolean) {
  const isFull = (side: string) => node[side] === "fill";
  const grows = isFull(isInRow ? "width" : "height");
  return {
    marginTop: points(node["top"]),
    marginLeft: points(node["left"]),
    marginRight: points(node["right"]),
    marginBottom: points(node["bottom"]),
    width: points(node["width"]),
    height: points(node["height"]),
    flex: grows ? "1 1 0" : undefined,
    alignSelf: isFull(isInRow ? "height" : "width") ? "stretch" : undefined,
    background: colour(node["background_color"])
  };
}

function letters(node: Node) {
  const size = points(node["text_size"]);
  return { color: colour(node["text_color"]), fontSize: size && size > 0 ? Math.min(size, 60) : undefined };
}

const colour = (value: unknown): string | undefined =>
  typeof value === "string" && /^#[0-9a-f]{3,8}$/i.test(value) ? value : undefined;

/** `@` is the model, `@.field` a field of it. Undefined if there is none. */
function valueOf(binding: string, model: unknown): unknown {
  if (binding === "@") return model;
  return binding.slice(2).split(".").reduce<unknown>(
    (value, name) => (typeof value === "object" && value !== null ? (value as Node)[name] : undefined),
    model
  );
}

function textOf(value: unknown, model: unknown): string {
  if (typeof value === "string" && (value === "@" || value.startsWith("@."))) {
    const found = valueOf(value, model);
    return found === undefined || found === null ?
      value :
      typeof found === "object" ?
      JSON.stringify(found) :
      String(found);
  }
  if (typeof value === "string" || typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return "";
  const { translation, logic } = value as Node;
  if (typeof translation === "string") return translation;
  return logic === undefined ? "" : "ƒ " + JSON.stringify(logic);
}
