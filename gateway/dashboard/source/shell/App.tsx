// The frame around every page: side bar, top bar, and the page that the address names.

import { ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { call } from "../api/client";
import { againAt, dropReturn } from "../api/providers";
import { may, restore, session, signOut } from "../api/session";
import { Boundary, Button, Empty, Link, Loading, Menu, Refused } from "../system/basics";
import { Select } from "../system/form";
import { Icon, Logo } from "../system/icons";
import { lazy } from "../system/lazy";
import { useLoad } from "../system/load";
import { go, match, setQuery, useAddress } from "../system/router";
import { Toasts } from "../system/toast";
import { t } from "../text";
import { routes, serverRoutes } from "../pages/routes";
import { Confirmation, Gate } from "../pages/SignIn";
import { groups, serverEntries } from "./navigation";
import { Palette } from "./Palette";
import { addressOf, AppInfo, Environment, makePlace, PlaceContext } from "./place";

const placeKey = "martlet.place";
const SignInAgain = lazy(async () => (await import("../pages/SignInAgain")).SignInAgain);

export function App() {
  return againAt ? <SignInAgain provider={againAt} /> : <Main />;
}

function Main() {
  const state = useSyncExternalStore(session.subscribe, session.state);
  useSyncExternalStore(session.subscribe, session.member);
  useEffect(() => {
    if (state === "unknown") void restore().catch(() => undefined);
  }, []);
  useEffect(() => {
    if (state === "open") dropReturn();
  }, [state]);
  if (state === "unknown") {
    return (
      <div className="gate">
        <Logo size={40} />
      </div>
    );
  }
  if (state === "none") {
    return (
      <>
        <Gate />
        <Toasts />
      </>
    );
  }
  if (state === "mustReset") {
    return (
      <>
        <Gate mustReset />
        <Toasts />
      </>
    );
  }
  return (
    <>
      <Shell />
      <Confirmation />
      {state === "expired" && <Gate isExpired />}
      <Toasts />
    </>
  );
}

function Shell() {
  const { path, query } = useAddress();
  const apps = useLoad(async () => {
    const found: AppInfo[] = [];
    for (const archived of [false, true]) {
      let after: string | undefined;
      do {
        const page = await call("GET /admin/apps", { query: { limit: 100, after, archived } });
        found.push(...(page.data as AppInfo[]));
        after = page.next;
      } while (after && found.length < 2000);
    }
    return found;
  }, []);
  const [isOpen, setOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        // To leave the page would close the dialog without asking about edits in it.
        if (!document.querySelector("dialog[open]:not(.palette)")) setPaletteOpen((open) => !open);
      }
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, []);
  useEffect(() => {
    const refresh = () => apps.reload();
    window.addEventListener("martlet:apps", refresh);
    return () => window.removeEventListener("martlet:apps", refresh);
  }, []);

  const [, , id = "", environmentName = "", page = ""] = path.split("/");
  const isInApp = path.startsWith("/apps/") && id !== "" && (environmentName === "live" || environmentName === "test");
  const remembered = useMemo(() => recall(), [path]);
  const live = (apps.data ?? []).filter((one) => !one.archived);
  const app = isInApp ?
    apps.data?.find((one) => one.id === id) :
    live.find((one) => one.id === remembered.app) ?? live[0];
  const environment: Environment = (isInApp ? environmentName : remembered.environment) === "test" ? "test" : "live";
  const version = query.get("version") ?? (isInApp ? "" : remembered.version);
  useEffect(() => {
    if (isInApp && app) remember({ app: app.id, environment, version });
  }, [isInApp, app?.id, environment, version]);
  useEffect(() => {
    if (apps.data && path === "/") {
      go(app ? addressOf(app.id, environment, version, "overview") : "/apps", { replace: true });
    }
  }, [apps.data, path]);

  const versions = useLoad(async () => {
    if (!app || !may("applications", "read", app.id)) return [];
    const found = await call("GET /admin/apps/{app}/versions", { path: { app: app.id }, query: { limit: 100 } });
    return found.data.map((one) => one.number);
  }, [app?.id]);
  const place = useMemo(
    () => app && makePlace(app, environment, version, versions.data ?? []),
    [app, environment, version, versions.data, session.member()]
  );

  return (
    <PlaceContext.Provider value={place ?? null}>
      <div className="shell">
        <a className="hidden" href="#main">{t("Skip to content")}</a>
        {isOpen && <div className="scrim" onClick={() => setOpen(false)} />}
        <aside className={"side" + (isOpen ? " open" : "")}>
          <Link to="/" className="brand">
            <Logo /> Martlet
          </Link>
          <nav aria-label={t("Pages")}>
            {app && groups.map((group, index) => {
              const entries = group.entries.filter((entry) => !entry.area || may(entry.area, "read", app.id));
              if (entries.length === 0) return null;
              return (
                <div key={index}>
                  {group.title && <h2>{t(group.title)}</h2>}
                  {entries.map((entry) => (
                    <Link
                      key={entry.page}
                      to={addressOf(app.id, environment, version, entry.page)}
                      current={isInApp && page === entry.page}>
                      <Icon name={entry.icon} />
                      {t(entry.title)}
                    </Link>
                  ))}
                </div>
              );
            })}
            <h2>{t("Server")}</h2>
            {serverEntries.filter((entry) => !entry.area || may(entry.area, "read")).map((entry) => (
              <Link key={entry.page} to={entry.page} current={!isInApp && path.startsWith(entry.page)}>
                <Icon name={entry.icon} />
                {t(entry.title)}
              </Link>
            ))}
          </nav>
        </aside>
        <div className="top">
          <span className="menu-button">
            <Button icon="menu" kind="quiet" label={t("Pages")} onPress={() => setOpen(true)} />
          </span>
          {app && apps.data && (
            <div className="switcher">
              <Select
                label={t("App")}
                value={app.id}
                options={live.concat(app.archived ? [app] : []).map((one) => ({ value: one.id, title: one.name }))}
                change={(next) => go(addressOf(next, environment, "", isInApp ? page : "overview"))} />
              <span className={"environment " + environment}>
                <Select
                  label={t("Environment")}
                  value={environment}
                  options={[{ value: "live", title: t("Live") }, { value: "test", title: t("Test") }]}
                  change={(next) => go(addressOf(app.id, next, version, isInApp ? page : "overview"))} />
              </span>
              {((versions.data?.length ?? 0) > 0 || version) && isInApp && (
                <span className="version">
                  <Select
                    label={t("Version")}
                    value={version}
                    options={[
                      { value: "", title: t("All versions") },
                      ...[...new Set([...(version ? [version] : []), ...(versions.data ?? [])])].map((one) => ({
                        value: one,
                        title: one
                      }))
                    ]}
                    change={(next) => setQuery({ version: next })} />
                </span>
              )}
            </div>
          )}
          <span className="space" />
          <button
            type="button"
            className="search-button"
            onClick={() => setPaletteOpen(true)}
            aria-label={t("Search and commands")}>
            <Icon name="search" />
            <span>{t("Search")}</span>
            <kbd>{/Mac/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
          </button>
          <Menu
            icon="staff"
            label={session.member()?.userName ?? t("Account")}
            items={[
              { title: t("Account and security"), act: () => go("/account") },
              {
                title: isDark() ? t("Light appearance") : t("Dark appearance"),
                act: () => setLook(isDark() ? "light" : "dark")
              },
              { title: t("Sign out"), act: () => void signOut() }
            ]} />
        </div>
        <main id="main" tabIndex={-1}>
          <Boundary on={path}>
            <Content
              path={path}
              isInApp={isInApp}
              hasApps={apps.data !== undefined}
              error={apps.error}
              retry={apps.reload}
              isAppKnown={app !== undefined} />
          </Boundary>
        </main>
      </div>
      {isPaletteOpen && <Palette apps={live} place={place ?? null} close={() => setPaletteOpen(false)} />}
    </PlaceContext.Provider>
  );
}

function Content(
  { path, isInApp, hasApps, error, retry, isAppKnown }: {
    path: string;
    isInApp: boolean;
    hasApps: boolean;
    error: unknown;
    retry: () => void;
    isAppKnown: boolean;
  }
): JSX.Element {
  const found = find(path);
  useEffect(() => {
    const heading = document.querySelector("main h1")?.textContent;
    document.title = heading ? `${heading} · Martlet` : "Martlet";
  });
  if (!hasApps) return <div className="page">{error ? <Refused error={error} retry={retry} /> : <Loading />}</div>;
  if (isInApp && !isAppKnown) {
    return (
      <div className="page">
        <Empty icon="apps" title={t("There is no such app")}>{t("Or you have no right in it.")}</Empty>
      </div>
    );
  }
  if (!found) {
    return (
      <div className="page">
        {path === "/" ? <Loading /> : <Empty icon="search" title={t("There is no such page")} />}
      </div>
    );
  }
  return <>{found}</>;
}

function find(path: string): ReactNode {
  for (const [pattern, make] of Object.entries(serverRoutes)) {
    const values = match(pattern, path);
    if (values) return make(values);
  }
  for (const [pattern, make] of Object.entries(routes)) {
    const values = match("/apps/{app}/{environment}/" + pattern, path);
    if (values) {
      return <div key={`${values.app} ${values.environment}`} style={{ display: "contents" }}>{make(values)}</div>;
    }
  }
  return null;
}

// What is remembered of the member's place between visits: names only, nothing of the app's data.

interface Remembered {
  app: string;
  environment: string;
  version: string;
}

function recall(): Remembered {
  try {
    return { app: "", environment: "live", version: "", ...JSON.parse(localStorage.getItem(placeKey) ?? "{}") };
  } catch {
    return { app: "", environment: "live", version: "" };
  }
}

function remember(place: Remembered): void {
  localStorage.setItem(placeKey, JSON.stringify(place));
}

// Light or dark: as the system has it, until the member chooses.

const lookKey = "martlet.look";
const system = window.matchMedia("(prefers-color-scheme: dark)");

export function isDark(): boolean {
  return document.documentElement.dataset.look === "dark";
}

export function setLook(look: "light" | "dark" | "system"): void {
  if (look === "system") localStorage.removeItem(lookKey);
  else localStorage.setItem(lookKey, look);
  applyLook();
}

export function chosenLook(): "light" | "dark" | "system" {
  const stored = localStorage.getItem(lookKey);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyLook(): void {
  const chosen = chosenLook();
  document.documentElement.dataset.look = (chosen === "system" ? system.matches : chosen === "dark") ? "dark" : "light";
}
system.addEventListener("change", applyLook);
