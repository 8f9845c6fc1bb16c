// What the pages know of an app definition: its parts, how they refer to each other, and the words of the format.

import { Words } from "../system/json";
import { own } from "../system/own";

export type Node = Record<string, any>;

export interface Definition {
  root_controller?: string;
  models?: Record<string, unknown>;
  views?: Record<string, Node>;
  controllers?: Record<string, Node>;
  rollout?: { flag?: string; otherwise?: number };
  [name: string]: unknown;
}

export const groups = ["controllers", "views", "models"] as const;
export type Group = (typeof groups)[number];

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

/** The parts of a group by name; nothing if the draft is malformed there. */
export function partsOf(definition: Definition, group: Group): Record<string, unknown> {
  const parts = definition[group];
  return isNode(parts) ? parts : {};
}

export const partOf = (definition: Definition, group: Group, name: string): unknown =>
  own(partsOf(definition, group), name);

/** Views within a view, in order. A name in place of a view is resolved. */
export function contentsOf(definition: Definition, view: unknown): { name: string | undefined; view: Node }[] {
  const contents = isNode(view) ? view["contents"] : undefined;
  const list: [string | undefined, unknown][] = Array.isArray(contents) ?
    contents.map((one) => [undefined, one]) :
    isNode(contents) ?
    ordered(contents) :
    [];
  return list.flatMap(([name, one]) => {
    const found = viewOf(definition, one);
    return found ? [{ name: name ?? (typeof one === "string" ? one : found["name"]), view: found }] : [];
  });
}

/** Named views in the order in which devices get them. */
function ordered(contents: Node): [string, unknown][] {
  const names: string[] = [];
  for (const [name, view] of Object.entries(contents)) {
    const place = isNode(view) ? names.indexOf(view["before"]) : -1;
    if (place >= 0) names.splice(place, 0, name);
    else names.push(name);
  }
  return names.map((name) => [name, contents[name]]);
}

export function viewOf(definition: Definition, view: unknown): Node | undefined {
  const found = typeof view === "string" ? partOf(definition, "views", view) : view;
  return isNode(found) ? found : undefined;
}

/** The names of views that a view refers to, at any depth within itself. */
function referencesOf(definition: Definition, view: unknown): string[] {
  if (!isNode(view)) return [];
  const contents = view["contents"];
  const inside = Array.isArray(contents) ? contents : isNode(contents) ? Object.values(contents) : [];
  const names = [view["row_view"], ...inside].filter((one): one is string =>
    typeof one === "string" && partOf(definition, "views", one) !== undefined
  );
  return [...names, ...inside.flatMap((one) => (typeof one === "string" ? [] : referencesOf(definition, one)))];
}

export interface Branch {
  group: Group;
  name: string;
  depth: number;
}

/** Controllers with their views, and the views within; then views that nothing shows, and models. */
export function treeOf(definition: Definition): Branch[] {
  const branches: Branch[] = [];
  const seen = new Set<string>();
  const addView = (name: string, depth: number) => {
    if (seen.has(name)) return;
    seen.add(name);
    branches.push({ group: "views", name, depth });
    for (const one of referencesOf(definition, partOf(definition, "views", name))) addView(one, depth + 1);
  };
  const controllers = Object.keys(partsOf(definition, "controllers"));
  const first = definition.root_controller ?? "";
  for (const name of controllers.sort((a, b) => Number(b === first) - Number(a === first))) {
    branches.push({ group: "controllers", name, depth: 0 });
    const controller = partOf(definition, "controllers", name);
    const render = isNode(controller) ? controller["render"] : undefined;
    if (typeof render === "string" && viewOf(definition, render)) addView(render, 1);
  }
  for (const name of Object.keys(partsOf(definition, "views"))) addView(name, 0);
  for (const name of Object.keys(partsOf(definition, "models"))) branches.push({ group: "models", name, depth: 0 });
  return branches;
}

/** The parts that devices download one by one, as `CompiledDefinition` on the server divides them. */
export function downloads(definition: Definition): Map<string, string> {
  const parts = new Map<string, string>();
  const root: Node = {};
  for (const [member, value] of Object.entries(definition)) {
    if (member === "rollout" || member === "requires" || member === "minClient") continue;
    const isGroup = (groups as readonly string[]).includes(member) && isNode(value);
    root[member] = isGroup ?
      Object.fromEntries(
        Object.entries(value as Node).map((
          [name, part]
        ) => [name, typeof part === "string" ? part : `${member}/${name}`])
      ) :
      value;
    if (!isGroup) continue;
    for (const [name, part] of Object.entries(value as Node)) {
      if (typeof part !== "string") parts.set(`${member}/${name}`, written(member === "views" ? listed(part) : part));
    }
  }
  return new Map([["app.json", written(root)], ...parts]);
}

/** A view as devices get it, with its contents as a list. */
function listed(view: unknown): unknown {
  if (!isNode(view)) return view;
  const contents = view["contents"];
  const inside = Array.isArray(contents) ?
    contents.map(listed) :
    isNode(contents) ?
    ordered(contents).map(([name, one]) => {
      const part = listed(one);
      return isNode(part) ? { name, ...part } : part;
    }) :
    contents;
  return inside === undefined ? view : { ...view, contents: inside };
}

/** JSON that is the same for the same value: the server may store members in another order. */
function written(value: unknown): string {
  return JSON.stringify(
    value,
    (_, one) => isNode(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one
  );
}

// The words of the format, as `Component` on the server has them.

const viewKinds = "View ListView LabelView ButtonView ImageView TextField Toggle Picker DatePicker Form MapView"
  .split(" ");
const controllerKinds = ["ViewController", "NavController", "SystemController"];
const members = (
  "kind contents actions fallback requires before hidden orientation background_color top left right bottom width " +
  "height text text_color text_font text_size text_lines title url items_model row_view field value placeholder " +
  "secure keyboard options mode minimum maximum min_length max_length required validation message submit_model " +
  "place latitude longitude render models views controllers action controller controller_model name root_controller " +
  "minClient rollout translation logic"
).split(" ");
const actions = ["openController", "showAlert", "submit"];

/** What can stand where the caret is. */
export const wordsIn = (definition: Definition): Words => (member, isName) => {
  const [controllers, views, models] = groups.map((group) => Object.keys(partsOf(definition, group)));
  switch (member) {
    case "kind":
      return [...viewKinds, ...controllerKinds];
    case "action":
      return actions;
    case "controller":
    case "root_controller":
      return controllers ?? [];
    case "render":
    case "row_view":
      return views ?? [];
    case "items_model":
    case "submit_model":
      return models ?? [];
    case "orientation":
      return ["horizontal", "vertical"];
    case "width":
    case "height":
      return ["fill"];
    default:
      return isName ? [...members, ...(views ?? [])] : [];
  }
};
