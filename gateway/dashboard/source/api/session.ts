// The signed-in member's session. Its tokens are in cookies that no script can read; this module knows only until when
// the access token is good. The only module that knows how requests are authorised.

import type { Staff } from "../../generated/api";
import { Problem, readProblem } from "./problem";

/** Holds when the access token ends, so that a reload knows whether to ask for a new one. Nothing secret. */
const storageKey = "martlet.session";
/** Whether the member wanted to stay signed in. */
const staysKey = "martlet.stays";
/** Cookies count only with this header, which pages of other sites cannot add. */
const header = { "martlet-dashboard": "1" };

let expires = Number(localStorage.getItem(storageKey) ?? "0");
let refreshing: Promise<boolean> | null = null;
let member: Staff | null = null;
let state: SessionState = expires > 0 ? "unknown" : "none";
const listeners = new Set<() => void>();

interface Opened {
  expiresIn: number;
  staff: Staff;
}

/** `unknown`: not asked yet. `expired`: ended while somebody was working; they may continue after signing in. */
export type SessionState = "unknown" | "none" | "open" | "mustReset" | "expired";

export const session = {
  subscribe(changed: () => void): () => void {
    listeners.add(changed);
    return () => listeners.delete(changed);
  },
  state: (): SessionState => state,
  member: (): Staff | null => member
};

function become(next: SessionState): void {
  state = next;
  listeners.forEach((changed) => changed());
}

function take(opened: Opened): void {
  expires = Date.now() + opened.expiresIn * 1000;
  localStorage.setItem(storageKey, String(expires));
  member = opened.staff;
  become(member.mustReset ? "mustReset" : "open");
}

function rememberStay(stays: boolean): void {
  localStorage.setItem(staysKey, stays ? "yes" : "");
}

export const staysSignedIn = (): boolean => localStorage.getItem(staysKey) === "yes";

function forget(next: SessionState): void {
  expires = 0;
  localStorage.removeItem(storageKey);
  if (next === "none") member = null;
  if (state !== next) become(next);
}

// Signed out in another window.
window.addEventListener("storage", (event) => {
  if (event.key === storageKey && event.newValue === null && state === "open") forget("expired");
});

async function post(path: string, body: unknown, method = "POST"): Promise<Opened> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { ...header, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const response = await fetch("/admin" + path, { method, headers, ...content });
  if (!response.ok) throw await readProblem(response);
  return response.json();
}

export async function signIn(
  userName: string,
  password: string,
  code: string | undefined,
  staySignedIn: boolean
): Promise<void> {
  const opened = await post("/auth/login", {
    userName,
    password,
    code,
    staySignedIn,
    device: navigator.platform || "browser"
  });
  // Over plain http from another machine browsers drop the cookies, and every later request would be refused.
  if (!window.isSecureContext) throw new Problem(400, "insecure", "");
  rememberStay(staySignedIn);
  take(opened);
}

/** The end of a sign-in at a provider. */
export async function finishAtProvider(given: {
  code: string;
  codeVerifier: string;
  secondFactorCode: string | undefined;
  staySignedIn: boolean;
}): Promise<void> {
  const opened = await post("/auth/oidc/finish", { ...given, device: navigator.platform || "browser" });
  rememberStay(given.staySignedIn);
  take(opened);
}

/** For what cannot be undone: the password once more, and the code of the second factor if there is one. */
export async function confirmSession(password: string, code: string | undefined): Promise<void> {
  take(await post("/auth/confirm", { password, code }));
}

export async function changePassword(password: string, newPassword: string): Promise<void> {
  take(await post("/me/password", { password, newPassword }, "PUT"));
}

export async function signOut(): Promise<void> {
  await fetch("/admin/auth/logout", { method: "POST", headers: header }).catch(() => undefined);
  localStorage.removeItem(staysKey);
  forget("none");
}

/** Restores the session after a reload. */
export async function restore(): Promise<void> {
  if (Date.now() < expires - 20_000 && (await readMember())) return;
  if (!(await refresh()) && state === "unknown") become("none");
}

/** The headers that authorise a request. */
export async function authorization(): Promise<Record<string, string>> {
  if (expires > 0 && Date.now() > expires - 20_000) await refresh();
  return header;
}

/** Called when a request was refused as unauthorised. Whether to send it again. */
export function refreshAfterRefusal(): Promise<boolean> {
  return expires > 0 ? refresh() : Promise.resolve(false);
}

/** Reads the member again, for rights that were changed. */
export async function readMember(): Promise<boolean> {
  const response = await fetch("/admin/me", { headers: header });
  if (!response.ok) return false;
  const read: Staff = await response.json();
  member = read;
  become(read.mustReset ? "mustReset" : "open");
  return true;
}

function refresh(): Promise<boolean> {
  refreshing ??= exchange().finally(() => (refreshing = null));
  return refreshing;
}

async function exchange(): Promise<boolean> {
  try {
    take(await post("/auth/refresh", undefined));
    return true;
  } catch (error) {
    // Without an answer the session may well be good: keep it, and let the request fail.
    if (!(error instanceof Problem) || error.status >= 500 || error.status === 429) throw error;
  }
  forget(state === "unknown" || state === "none" ? "none" : "expired");
  return false;
}

export type Action = "create" | "read" | "update" | "delete";
/** Areas of rights. `staff`, `audit` and `status` concern the whole server. */
export type Area =
  | "applications"
  | "storage"
  | "users"
  | "config"
  | "experiments"
  | "languages"
  | "analytics"
  | "crashes"
  | "tickets"
  | "notifications"
  | "staff"
  | "audit"
  | "status";

/** Whether the member has a right. Only decides what is shown; the server decides what is done. */
export function may(area: Area, action: Action, app?: string): boolean {
  if (!member) return false;
  if (member.isAdministrator) return true;
  const rights = member.rights as Record<string, Record<string, string[]>>;
  return ["*", app ?? ""].some((name) => rights[name]?.[area]?.includes(action) ?? false);
}
