// Calls of the admin API, typed by docs/openapi.yaml.

import type { Operations } from "../../generated/api";
import { Problem, readProblem } from "./problem";
import { authorization, refreshAfterRefusal } from "./session";

type Simple = string | number | boolean | undefined | null;

interface CallOptions {
  path?: Record<string, string | number>;
  query?: Record<string, Simple>;
  body?: unknown;
  headers?: Record<string, string>;
  /** The environment of the app's data; live without it. */
  environment?: string;
  signal?: AbortSignal;
}

type PathOption<Name extends string, Value> = [Name] extends [never] ? {} : { path: Record<Name, Value> };

export type Options<O extends Operation> = PathOption<O["path"], string | number> & {
  query?: { [name in O["query"]]?: Simple };
  environment?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
} & (O["body"] extends undefined ? { body?: undefined } : { body?: O["body"] });

interface Operation {
  path: string;
  query: string;
  body: unknown;
  answer: unknown;
}

export type OperationName = keyof Operations;
export type Answer<Name extends OperationName> = Operations[Name]["answer"];

/** Makes a call that the OpenAPI document describes: `call("GET /admin/apps/{app}/keys", {path: {app}})`. */
export async function call<Name extends OperationName>(
  name: Name,
  options: Options<Operations[Name]>
): Promise<Answer<Name>> {
  return (await request(name, options as CallOptions)).body as Answer<Name>;
}

/** A JSON answer with its entity tag. */
export interface Tagged<T> {
  body: T;
  tag: string | null;
}

export async function callTagged<Name extends OperationName>(
  name: Name,
  options: Options<Operations[Name]>
): Promise<Tagged<Answer<Name>>> {
  return (await request(name, options as CallOptions)) as Tagged<Answer<Name>>;
}

/** Makes any call: `request("GET /admin/…", …)`. */
export async function request(name: string, given: CallOptions): Promise<Tagged<any>> {
  const response = await send(name, given);
  const tag = response.headers.get("etag");
  if (response.status === 204) return { body: undefined, tag };
  const isJSON = (response.headers.get("content-type") ?? "").includes("json");
  return { body: isJSON ? await response.json() : await response.blob(), tag };
}

export async function send(name: string, given: CallOptions): Promise<Response> {
  const [method = "GET", template = ""] = name.split(" ");
  let address = template.replace(/\{(\w+)\}/g, (_, key) => encodeURIComponent(String(given.path?.[key] ?? "")));
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(given.query ?? {})) {
    if (value !== undefined && value !== null && value !== "") query.set(key, String(value));
  }
  if ([...query].length > 0) address += (address.includes("?") ? "&" : "?") + query;
  let response = await attempt(method, address, given);
  if (response.status === 401 && (await refreshAfterRefusal())) response = await attempt(method, address, given);
  if (response.ok) return response;
  const problem = await readProblem(response);
  if (problem.code !== "confirmation-required" || !(await confirmation())) throw problem;
  response = await attempt(method, address, given);
  if (!response.ok) throw await readProblem(response);
  return response;
}

/** Asks the member to confirm their identity. True if they did. `SignIn.tsx` sets it. */
let confirmation: () => Promise<boolean> = () => Promise.resolve(false);

export function setConfirmation(ask: () => Promise<boolean>): void {
  confirmation = ask;
}

async function attempt(method: string, address: string, given: CallOptions): Promise<Response> {
  const headers: Record<string, string> = { ...(await authorization()), ...given.headers };
  if (given.environment && given.environment !== "live") headers["x-martlet-environment"] = given.environment;
  const isRaw = given.body instanceof Blob || given.body instanceof FormData;
  if (given.body !== undefined && !isRaw) headers["content-type"] ??= "application/json";
  const body = given.body === undefined ? undefined : isRaw ? (given.body as Blob | FormData) : JSON.stringify(given.body);
  try {
    return await fetch(address, { method, headers, body, signal: given.signal, cache: "no-store" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "no-answer", "");
  }
}

/** Offers an answer as a file. */
export async function download(name: string, given: CallOptions, fileName: string): Promise<void> {
  const address = URL.createObjectURL(await (await send(name, given)).blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
