// Where the member is: the app, its environment and version. Chosen once, at the top, and part of every address.

import { createContext, useContext } from "react";
import type { Operations } from "../../generated/api";
import { call, OperationName, Options } from "../api/client";
import { Action, Area, may } from "../api/session";
import { t } from "../text";

export type Environment = "live" | "test";

export interface AppInfo {
  id: string;
  number: number;
  name: string;
  archived: string | null;
}

export interface Place {
  app: AppInfo;
  environment: Environment;
  /** A version of the app that pages narrow to; empty for all. */
  version: string;
  versions: string[];
  /** The address of a page of this app. */
  to: (page: string, query?: Record<string, string | undefined>) => string;
  may: (area: Area, action: Action) => boolean;
}

export const PlaceContext = createContext<Place | null>(null);

export function usePlace(): Place {
  const place = useContext(PlaceContext);
  if (!place) throw new Error(t("This page needs an app."));
  return place;
}

export function makePlace(app: AppInfo, environment: Environment, version: string, versions: string[]): Place {
  return {
    app,
    environment,
    version,
    versions,
    to: (page, query = {}) => addressOf(app.id, environment, version, page, query),
    may: (area, action) => may(area, action, app.id)
  };
}

export function addressOf(
  app: string,
  environment: Environment,
  version: string,
  page: string,
  query: Record<string, string | undefined> = {}
): string {
  const values = new URLSearchParams();
  if (version) values.set("version", version);
  for (const [name, value] of Object.entries(query)) if (value) values.set(name, value);
  const text = values.toString();
  return `/apps/${encodeURIComponent(app)}/${environment}/${page}${text ? "?" + text : ""}`;
}

type AppOperation = {
  [Name in OperationName]: Name extends `${string}/admin/apps/{app}${string}` ? Name : never;
}[OperationName];
type Rest<Name extends AppOperation> =
  & Omit<Options<Operations[Name]>, "path" | "environment">
  & (Exclude<Operations[Name]["path"], "app"> extends never ? { path?: undefined } :
    { path: Record<Exclude<Operations[Name]["path"], "app">, string | number> });

/** Makes a call about the present app and environment. */
export function callIn<Name extends AppOperation>(
  place: Place,
  name: Name,
  options?: Rest<Name>
): Promise<Operations[Name]["answer"]> {
  const given = { ...options, environment: place.environment, path: { ...(options?.path ?? {}), app: place.app.id } };
  return call(name, given as unknown as Options<Operations[Name]>);
}

/** For calls whose names are made from parts, or that the document leaves open. */
export function given(place: Place, path: Record<string, string | number> = {}) {
  return { environment: place.environment, path: { ...path, app: place.app.id } };
}
