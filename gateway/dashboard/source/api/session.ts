// The signed-in member's session. The only module that knows how requests are authorised: the access token is in memory,
// the refresh token in this tab's storage. A session by cookie would replace this file and nothing else.

import type { Staff, StaffTokens } from "../../generated/api";
import { Problem, readProblem } from "./problem";

const storageKey = "martlet.refresh";

let accessToken: string | null = null;
let expires = 0;
let refreshing: Promise<boolean> | null = null;
let member: Staff | null = null;
let state: SessionState = sessionStorage.getItem(storageKey) ? "unknown" : "none";
const listeners = new Set<() => void>();

/** `unknown`: not asked yet. `expired`: ended while somebody was working; they may continue after signing in. */
export type SessionState = "unknown" | "none" | "open" | "mustReset" | "expired";

export const session = {
  subscribe(changed: () => void): () => void {
    listeners.add(changed);
    return () => listeners.delete(changed);
  },
  state: (): SessionState => state,
  member: (): Staff | null => member,
};

function become(next: SessionState): void {
  state = next;
  listeners.forEach((changed) => changed());
}

function take(tokens: StaffTokens): void {
  accessToken = tokens.accessToken;
  expires = Date.now() + tokens.expiresIn * 1000;
  sessionStorage.setItem(storageKey, tokens.refreshToken);
  member = tokens.staff;
  become(member.mustReset ? "mustReset" : "open");
}

function forget(next: SessionState): void {
  accessToken = null;
  sessionStorage.removeItem(storageKey);
  if (next === "none") member = null;
  if (state !== next) become(next);
}

async function post(path: string, body: unknown, method = "POST"): Promise<StaffTokens> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (method === "PUT") Object.assign(headers, await authorization());
  const response = await fetch("/admin" + path, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw await readProblem(response);
  return response.json();
}

export async function signIn(
  userName: string, password: string, code: string | undefined, staySignedIn: boolean
): Promise<void> {
  take(await post("/auth/login", { userName, password, code, staySignedIn, device: navigator.platform || "browser" }));
}

export async function changePassword(password: string, newPassword: string): Promise<void> {
  take(await post("/me/password", { password, newPassword }, "PUT"));
}

export async function signOut(): Promise<void> {
  const headers = await authorization();
  await fetch("/admin/auth/logout", { method: "POST", headers }).catch(() => undefined);
  forget("none");
}

/** Restores the session of this tab after a reload. */
export async function restore(): Promise<void> {
  if (!(await refresh()) && state === "unknown") become("none");
}

/** The headers that authorise a request; empty without a session. */
export async function authorization(): Promise<Record<string, string>> {
  if (accessToken && Date.now() < expires - 20_000) return { authorization: "Bearer " + accessToken };
  if (sessionStorage.getItem(storageKey)) await refresh();
  return accessToken ? { authorization: "Bearer " + accessToken } : {};
}

/** Called when a request was refused as unauthorised. Whether to send it again. */
export function refreshAfterRefusal(): Promise<boolean> {
  accessToken = null;
  return refresh();
}

/** Reads the member again, for rights that were changed. */
export async function readMember(): Promise<void> {
  const response = await fetch("/admin/me", { headers: await authorization() });
  if (!response.ok) return;
  member = await response.json();
  listeners.forEach((changed) => changed());
}

function refresh(): Promise<boolean> {
  refreshing ??= exchange().finally(() => (refreshing = null));
  return refreshing;
}

async function exchange(): Promise<boolean> {
  const refreshToken = sessionStorage.getItem(storageKey);
  if (refreshToken) {
    try {
      take(await post("/auth/refresh", { refreshToken }));
      return true;
    } catch (error) {
      // Without an answer the session may well be good: keep it, and let the request fail.
      if (!(error instanceof Problem) || error.status >= 500 || error.status === 429) throw error;
    }
  }
  forget(state === "open" || state === "mustReset" || state === "expired" ? "expired" : "none");
  return false;
}

export type Action = "create" | "read" | "update" | "delete";
/** Areas of rights. `staff`, `audit` and `status` concern the whole server. */
export type Area =
  | "applications" | "storage" | "users" | "config" | "experiments" | "languages" | "analytics" | "crashes" | "tickets"
  | "notifications" | "staff" | "audit" | "status";

/** Whether the member has a right. Only decides what is shown; the server decides what is done. */
export function may(area: Area, action: Action, app?: string): boolean {
  if (!member) return false;
  if (member.isAdministrator) return true;
  const rights = member.rights as Record<string, Record<string, string[]>>;
  return ["*", app ?? ""].some((name) => rights[name]?.[area]?.includes(action) ?? false);
}
