// Keys and versions of an app, and the app itself.

import { useState } from "react";
import type { App } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Button, Notice, PageHead, Section, Show, Tabs } from "../system/basics";
import { errorOf, Form, TextField } from "../system/form";
import { lazy } from "../system/lazy";
import { useLoad } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { say } from "../system/toast";
import { day, t } from "../text";
import { appsChanged } from "./Apps";
import { Keys } from "./Keys";

const AppIcon = lazy(async () => (await import("./Pictures")).AppIcon);
const ServiceSettings = lazy(async () => (await import("./ServiceSettings")).ServiceSettings);
const Versions = lazy(async () => (await import("./Versions")).Versions);

type Tab = "keys" | "versions" | "app" | "services";

export function SettingsPage() {
  const { query } = useAddress();
  const tab = (query.get("tab") ?? "keys") as Tab;
  return (
    <div className="page">
      <PageHead title={t("Keys and versions")} />
      <Tabs
        label={t("Settings")}
        current={tab}
        choose={(next) => setQuery({ tab: next === "keys" ? "" : next })}
        tabs={[
          { name: "keys", title: t("Keys") },
          { name: "versions", title: t("Versions") },
          { name: "app", title: t("App") },
          { name: "services", title: t("Services") }
        ]} />
      {tab === "versions" ?
        <Versions /> :
        tab === "app" ?
        <AppForm /> :
        tab === "services" ?
        <ServiceSettings /> :
        <Keys />}
    </div>
  );
}

function AppForm() {
  const place = usePlace();
  const app = useLoad(() => callIn(place, "GET /admin/apps/{app}"), [place.app.id]);
  return <Show from={app}>{(data) => <AppFields key={data.updated} app={data} saved={app.show} />}</Show>;
}

function AppFields({ app, saved }: { app: App; saved: (app: App) => void }) {
  const place = usePlace();
  const [name, setName] = useState(app.name);
  const [bundles, setBundles] = useState(app.bundleIds.join(", "));
  const [storeId, setStoreId] = useState(app.storeId ?? "");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    saved(
      await callIn(place, "PATCH /admin/apps/{app}", {
        body: { name, bundleIds: bundles.split(/[\s,]+/).filter(Boolean), storeId: storeId || null }
      })
    );
    appsChanged();
    say(t("Saved"));
  };
  return (
    <div className="form-page stack">
      <Form
        send={send}
        action={t("Save")}
        fields={["name", "bundleIds", "storeId"]}
        report={report}
        isReadOnly={!place.may("applications", "update")}>
        <TextField label={t("Name")} value={name} change={setName} isRequired error={errorOf("name", problem)} />
        <TextField
          label={t("Bundle ids")}
          value={bundles}
          change={setBundles}
          isOptional
          error={errorOf("bundleIds", problem)} />
        <TextField
          label={t("App Store id")}
          value={storeId}
          change={setStoreId}
          isOptional
          error={errorOf("storeId", problem)} />
      </Form>
      <AppIcon app={app} changed={async () => saved(await callIn(place, "GET /admin/apps/{app}"))} />
      {place.may("applications", "update") && (app.storeId || app.bundleIds.length > 0) && (
        <StoreRecord taken={async () => saved(await callIn(place, "GET /admin/apps/{app}"))} />
      )}
      <p className="faint">
        {t("Id")} <code>{app.id}</code> · {t("Number")} {app.number} · {t("Created")} {day(app.created)}
      </p>
    </div>
  );
}

/** What the App Store says of the app, which can be taken over. */
function StoreRecord({ taken }: { taken: () => Promise<void> }) {
  const place = usePlace();
  const [record, setRecord] = useState<Record<string, unknown> | null | undefined>(undefined);
  const look = async () => setRecord((await callIn(place, "POST /admin/apps/{app}/lookup")).record);
  const take = async () => {
    await callIn(place, "POST /admin/apps/{app}/lookup", { query: { apply: true } });
    await taken();
    appsChanged();
    setRecord(undefined);
    say(t("Saved"));
  };
  return (
    <Section
      title={t("App Store")}
      note={t("Copies name, ids, icon, and the newest version with its notes.")}
      actions={<Button isSmall onPress={look}>{t("Look it up")}</Button>}>
      {record === null && <Notice>{t("The App Store has no app with this id.")}</Notice>}
      {record && (
        <div className="row">
          <strong>{String(record["name"] ?? "")}</strong>
          <span className="soft">{String(record["version"] ?? "")}</span>
          <Button isSmall kind="primary" onPress={take}>{t("Apply")}</Button>
        </div>
      )}
    </Section>
  );
}
