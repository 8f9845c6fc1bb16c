// What the palette finds by name in the present app: its collections, flags and documents.

import { request } from "../api/client";
import { Area } from "../api/session";
import { Kind, readFlags } from "../pages/document";
import { IconName } from "../system/icons";
import { t, Text } from "../text";
import { given, Place } from "./place";

export interface Named {
  name: string;
  /** What has this name. */
  kind: string;
  icon: IconName;
  address: string;
}

const documents: { kind: Kind; title: Text; icon: IconName; page: string; area: Area }[] = [
  { kind: "experiment", title: "A/B test", icon: "experiment", page: "experiments", area: "experiments" },
  { kind: "configuration", title: "Configuration", icon: "config", page: "configuration", area: "config" },
  { kind: "translation", title: "Texts", icon: "languages", page: "languages", area: "languages" },
  { kind: "definition", title: "App definition", icon: "code", page: "definitions", area: "config" }
];
const mostPages = 5;
/** Of each kind. */
const mostNames = 2000;

/** All names that the member may read. What cannot be read now is left out: its own page says why. */
export async function readNames(place: Place): Promise<Named[]> {
  const lists = [collections(place), flags(place), ...documents.map((one) => documentsOf(place, one))];
  const found = await Promise.all(lists.map((list) => list.catch(() => [])));
  return found.flatMap((list) => list.slice(0, mostNames));
}

async function collections(place: Place): Promise<Named[]> {
  if (!place.may("storage", "read")) return [];
  const all: { name: string }[] = (await request("GET /admin/apps/{app}/collections", given(place))).body.data;
  return all.map(({ name }) => ({
    name,
    kind: t("Collection"),
    icon: "data",
    address: place.to("storage/" + encodeURIComponent(name))
  }));
}

async function flags(place: Place): Promise<Named[]> {
  if (!place.may("config", "read")) return [];
  return Object.keys(await readFlags(place)).map((name) => ({
    name,
    kind: t("Flag"),
    icon: "flag",
    address: place.to("flags", { flag: name })
  }));
}

async function documentsOf(
  place: Place,
  { kind, title, icon, page, area }: typeof documents[number]
): Promise<Named[]> {
  if (!place.may(area, "read")) return [];
  const names: string[] = [];
  let after: string | undefined;
  for (let n = 0; n < mostPages; n++) {
    const query = { after, limit: 100 };
    const { body } = await request("GET /admin/apps/{app}/config/{kind}", { ...given(place, { kind }), query });
    names.push(...body.data.map((one: { name: string }) => one.name));
    after = body.next ?? undefined;
    if (after === undefined) break;
  }
  return names.map((name) => ({
    name,
    kind: t(title),
    icon,
    address: place.to(`${page}/${encodeURIComponent(name)}`)
  }));
}
