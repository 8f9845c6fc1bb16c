// Sign-in of staff at GitHub or an OpenID Connect provider: the browser leaves the page, and returns with a code.

import { base, go } from "../system/router";
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

// A member who is signed in confirms who they are by signing in again, in a window of its own: so the page keeps what
// is on it. The window starts with a copy of this one's session storage, which no other site can write. It tells the
// other windows by a channel, because a page that was at another site has no opener any more.

const againKey = "martlet.again";
const channelName = "martlet.again";

/** The provider at which this window is to sign the member in again; null in all other windows. */
export const againAt = sessionStorage.getItem(againKey);

/** Must be called by a click. Whether the browser has opened the window. */
export function openAgain(provider: string): boolean {
  sessionStorage.setItem(againKey, provider);
  const opened = window.open(base + "/", "_blank", "popup,width=480,height=720");
  sessionStorage.removeItem(againKey);
  return opened !== null;
}

/** In that window, once the member is signed in: the others continue. */
export function endAgain(): void {
  sessionStorage.removeItem(againKey);
  const channel = new BroadcastChannel(channelName);
  channel.postMessage("done");
  channel.close();
  // Some browsers close no window that was at another site.
  window.close();
}

/** Calls `act` when a window has signed the member in again. Returns what ends that. */
export function onAgain(act: () => void): () => void {
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = act;
  return () => channel.close();
}

function base64URL(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
