// The catalogue of remote configuration: which kinds of elements there are, and which properties each of them has.

import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Loaded, useLoad } from "../system/load";
import { own } from "../system/own";

export interface PropertyType {
  type: "text" | "number" | "integer" | "boolean" | "color" | "choice" | "texts" | "url" | "date" | "any";
  minimum?: number;
  maximum?: number;
  maximumLength?: number;
  choices?: string[];
}

/** As the catalogue writes it: a name, the choices, or all of it. */
type WrittenType = PropertyType["type"] | string[] | PropertyType;

interface ElementKind {
  framework?: string;
  parent?: string;
  properties?: Record<string, WrittenType>;
  isOpen?: boolean;
}

export type Catalogue = Record<string, ElementKind>;

/** As many as the server allows. */
const deepest = 16;

export function useCatalogue(): Loaded<Catalogue> {
  const place = usePlace();
  return useLoad(
    async () => (await request("GET /admin/apps/{app}/config/catalogue", given(place))).body.kinds as Catalogue,
    [place.app.id]
  );
}

/** With the kinds and properties that a document adds. */
export function extended(builtIn: Catalogue, added: unknown): Catalogue {
  if (typeof added !== "object" || added === null) return builtIn;
  const all = { ...builtIn };
  for (const [name, kind] of Object.entries(added as Catalogue)) {
    const known = own(all, name);
    all[name] = known ?
      { ...known, isOpen: known.isOpen || kind?.isOpen, properties: { ...known.properties, ...kind?.properties } } :
      { ...kind };
  }
  return all;
}

/** The kind and those that it inherits from, the nearest first. */
export function lineage(catalogue: Catalogue, kind: string): string[] {
  const line: string[] = [];
  for (let next: string | undefined = kind; next && own(catalogue, next) && line.length <= deepest;) {
    line.push(next);
    next = own(catalogue, next)?.parent;
  }
  return line;
}

/** By name, those of the kind itself before inherited ones. */
export function propertiesOf(catalogue: Catalogue, kind: string): Map<string, PropertyType> {
  const found = new Map<string, PropertyType>();
  for (const name of lineage(catalogue, kind)) {
    for (const [property, written] of Object.entries(catalogue[name]?.properties ?? {})) {
      if (!found.has(property)) found.set(property, typeOf(written));
    }
  }
  return found;
}

function typeOf(written: WrittenType): PropertyType {
  if (Array.isArray(written)) return { type: "choice", choices: written };
  return typeof written === "string" ? { type: written } : written;
}

/** The value of a property that is added. */
export function initialValue(type: PropertyType, colours: string[]): unknown {
  switch (type.type) {
    case "number":
    case "integer":
      return (type.minimum ?? 0) > 0 ? type.minimum : Math.min(0, type.maximum ?? 0);
    case "boolean":
      return true;
    case "color":
      return colours[0] ?? "";
    case "choice":
      return type.choices?.[0] ?? "";
    case "texts":
      return [];
    default:
      return "";
  }
}

// A configuration, as far as the pages read it. What is malformed is for the JSON tab.

export interface Colour {
  name: string;
  red: number;
  green: number;
  blue: number;
  alpha?: number;
}

export interface ScreenObject {
  objectName?: string;
  objectDesc?: string;
  objectType?: string;
  objectProperties?: Record<string, unknown>;
}

export interface Screen {
  name?: string;
  parent?: unknown;
  classType?: string;
  classProperties?: Record<string, unknown>;
  objectsList?: ScreenObject[];
}

const objectsIn = <Item>(value: unknown): Item[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "object" && one !== null) : [];

export const coloursIn = (draft: any): Colour[] => objectsIn(draft?.colors);
export const screensIn = (draft: any): Screen[] => objectsIn(draft?.controllers);
export const objectsOf = (screen: Screen): ScreenObject[] => objectsIn(screen.objectsList);
export const classOf = (screen: Screen): string => screen.classType ?? "UIViewController";
/** The kind of an object; the first dashboard wrote it among the properties. */
export const kindOf = (object: ScreenObject): string =>
  object.objectType ?? String(object.objectProperties?.["type"] ?? "");

export function cssColour(colours: Colour[], name: unknown): string | undefined {
  const found = colours.find((one) => one.name === name);
  return found && `rgba(${found.red || 0}, ${found.green || 0}, ${found.blue || 0}, ${found.alpha ?? 1})`;
}

/** Whether a background of this colour is so dark that a phone shows text in a light colour by default. */
export function isDark(colours: Colour[], name: unknown): boolean {
  const found = colours.find((one) => one.name === name);
  return found !== undefined
    && 0.3 * (Number(found.red) || 0) + 0.6 * (Number(found.green) || 0) + 0.1 * (Number(found.blue) || 0) < 110;
}
