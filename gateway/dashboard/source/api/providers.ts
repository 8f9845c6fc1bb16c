// Sign-in of staff at GitHub or an OpenID Connect provider: the browser leaves the page, and returns with a code.

import { go } from "../system/router";
import { readProblem } from "./problem";
import { finishAtProvider } from "./session";

/** What the page remembers while the browser is at the provider, in this window only. */
interface Pending {
  provider: string;
  state: string;
  verifier: string;
  stays: boolean;
  /** Where the member was, without `/dashboard`. */
  path: string;
}

/** A code that signs in, with what belongs to it. It can be used until the sign-in is complete. */
export type Returned = Pending & { code: string };

const storageKey = "martlet.provider";
const companies: Record<string, string> = { github: "GitHub", google: "Google" };

export const companyOf = (provider: string): string => companies[provider] ?? provider;

/** The names of the providers; none if the server does not answer. */
export async function listProviders(): Promise<string[]> {
  const response = await fetch("/admin/auth/providers").catch(() => undefined);
  if (!response?.ok) return [];
  const answer: { data: { name: string }[] } = await response.json();
  return answer.data.map((one) => one.name);
}

/** The address that administrators name among a provider's `redirectURLs`. */
export const returnAddress = location.origin + "/dashboard/";

/** Leaves the page. */
export async function leaveFor(provider: string, stays: boolean, path: string): Promise<void> {
  const verifier = base64URL(crypto.getRandomValues(new Uint8Array(32)));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const response = await fetch(`/admin/auth/oidc/${encodeURIComponent(provider)}/start`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirectURL: returnAddress, codeChallenge: base64URL(new Uint8Array(digest)) })
  });
  if (!response.ok) throw await readProblem(response);
  const { url, state }: { url: string; state: string } = await response.json();
  const pending: Pending = { provider, state, verifier, stays, path };
  sessionStorage.setItem(storageKey, JSON.stringify(pending));
  location.assign(url);
}

/** What the address says of a return to this page; null if the browser was at no provider. Can be taken once. */
export function takeReturn(): Returned | { error: string; path: string } | null {
  const stored = sessionStorage.getItem(storageKey);
  const query = new URLSearchParams(location.search);
  if (!stored || !query.has("state")) return null;
  sessionStorage.removeItem(storageKey);
  const pending: Pending = JSON.parse(stored);
  const code = query.get("code");
  // Somebody else's code would sign this browser in as somebody else.
  if (!code || query.get("state") !== pending.state) {
    return { error: query.get("error") ?? "state", path: pending.path };
  }
  return { ...pending, code };
}

/** For a browser that is signed in: what it brings back must not sign it in later, and need not be in the address. */
export function dropReturn(): void {
  const returned = takeReturn();
  sessionStorage.removeItem(storageKey);
  if (returned) go(returned.path, { replace: true });
}

export function finish(returned: Returned, secondFactorCode?: string): Promise<void> {
  return finishAtProvider({
    code: returned.code,
    codeVerifier: returned.verifier,
    secondFactorCode,
    staySignedIn: returned.stays
  });
}

function base64URL(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
