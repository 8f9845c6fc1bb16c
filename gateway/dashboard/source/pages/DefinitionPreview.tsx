// A screen of an app definition as HTML, as `HTMLDefinitionRenderer` of MartletKit draws it. Data come from models
// within the definition; where there are none, the binding stands in their place.

import { ReactNode } from "react";
import { t } from "../text";
import { contentsOf, Definition, Node, partOf, viewOf } from "./definition";

/** Views within views; the server refuses more. */
const deepest = 32;

export function DefinitionPreview(
  { definition, controller, view }: { definition: Definition; controller?: string; view?: string }
) {
  const shown = controller === undefined ?
    undefined :
    partOf(definition, "controllers", controller) as Node | undefined;
  const root = viewOf(definition, view ?? shown?.["render"]);
  const title = shown ? textOf(shown["title"], undefined) : view ?? "";
  return (
    <div className="phone" role="img" aria-label={t("{name} as a phone shows it", { name: controller ?? view ?? "" })}>
      <div className="phone-screen" aria-hidden="true">
        <div className="phone-bar">{title || controller}</div>
        {root && draw(definition, root, undefined, false, 0)}
      </div>
    </div>
  );
}

function draw(definition: Definition, node: Node, model: unknown, isInRow: boolean, depth: number): ReactNode {
  if (depth > deepest || node["hidden"] === true) return null;
  const kind = typeof node["kind"] === "string" ? node["kind"] : "View";
  const isRow = node["orientation"] === "horizontal";
  const style = { ...layout(node, isInRow), ...letters(node) };
  const inside = () =>
    contentsOf(definition, node).map((one, index) => (
      <Part key={index}>{draw(definition, one.view, model, isRow, depth + 1)}</Part>
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
      return <div className="phone-stack" style={style}>{rows(definition, node, model, depth)}</div>;
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
      if (fallback) return draw(definition, fallback, model, isInRow, depth + 1);
      return <div className="phone-other" style={style}>{kind}{inside()}</div>;
    }
  }
}

const Part = ({ children }: { children?: ReactNode }) => <>{children}</>;

/** The rows of a list: of its model, if that is within the definition, and otherwise two that show the bindings. */
function rows(definition: Definition, node: Node, model: unknown, depth: number): ReactNode[] {
  const row = viewOf(definition, node["row_view"]);
  const name = node["items_model"];
  const stored = typeof name === "string" ? partOf(definition, "models", name) ?? valueOf(name, model) : name;
  const items: unknown[] = Array.isArray(stored) ? stored.slice(0, 20) : [undefined, undefined];
  if (!row) return [];
  return items.map((item, index) => <Part key={index}>{draw(definition, row, item, false, depth + 1)}</Part>);
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
