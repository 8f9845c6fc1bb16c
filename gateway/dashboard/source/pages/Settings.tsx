// Keys and versions of an app, and the app itself.

import { useState } from "react";
import type { App, Key, Version } from "../../generated/api";
import { Answer } from "../api/client";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Menu, Notice, PageHead, Section, Show, Tabs } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Choice, errorOf, Form, TextField } from "../system/form";
import { useLoad, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, day, t, Text } from "../text";
import { appsChanged } from "./Apps";

type Tab = "keys" | "versions" | "app";

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
          { name: "app", title: t("App") }
        ]} />
      {tab === "versions" ? <Versions /> : tab === "app" ? <AppForm /> : <Keys />}
    </div>
  );
}

const kinds: Record<Key["kind"], { title: Text; about: Text }> = {
  client: { title: "App key", about: "Names app and environment in the address. Grants nothing by itself." },
  secret: { title: "Secret", about: "Ships inside the app; lets clients call the API. Rules decide what they may do." },
  master: {
    title: "Master key",
    about: "For your own servers: everything of this app. Only from the networks you allow."
  },
  ingest: { title: "Ingest key", about: "Only sends events and crash reports." },
  evaluation: { title: "Evaluation key", about: "Only asks for flags, with any OpenFeature SDK." }
};

function Keys() {
  const place = usePlace();
  const list = useLoad(() => callIn(place, "GET /admin/apps/{app}/keys", { query: { revoked: false } }), [
    place.app.id
  ]);
  const [isNew, setNew] = useState(false);
  const [shown, setShown] = useState<Answer<"POST /admin/apps/{app}/keys"> | null>(null);
  const [dialog, ask] = useConfirm();
  const rotate = (key: Key) =>
    ask({
      title: t("Rotate this key?"),
      action: t("Rotate"),
      isDanger: false,
      text: t(
        "A new key of the same kind is made. The old one works for one more day, so that you can replace it without an outage."
      ),
      act: async () => {
        setShown(await callIn(place, "POST /admin/apps/{app}/keys/{id}/rotate", { path: { id: key.id }, body: {} }));
        list.reload();
      }
    });
  const revoke = (key: Key) =>
    ask({
      title: t("Revoke this key?"),
      action: t("Revoke"),
      typed: key.hint,
      text: t("Whoever uses it is refused within two seconds. This cannot be taken back."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/keys/{id}", { path: { id: key.id } });
        list.reload();
      }
    });
  return (
    <Section
      note={t("Keys are stored as hashes: a key is shown once, when it is made.")}
      actions={place.may("applications", "update") && (
        <Button
          kind="primary"
          icon="plus"
          onPress={() => setNew(true)}>
          {t("New key")}
        </Button>
      )}>
      <Show from={list}>
        {(keys) => (
          <Table
            label={t("Keys")}
            rows={keys.data}
            id={(key) => key.id}
            columns={[
              {
                name: "kind",
                title: t("Kind"),
                width: "170px",
                cell: (key) => <span title={t(kinds[key.kind].about)}>{t(kinds[key.kind].title)}</span>
              },
              { name: "hint", title: t("Ends in"), width: "100px", cell: (key) => <code>…{key.hint}</code> },
              {
                name: "environment",
                title: t("Environment"),
                width: "120px",
                isExtra: true,
                cell: (key) =>
                  key.environment && (
                    <Badge tone={key.environment === "test" ? "warning" : "neutral"}>
                      {key.environment === "test" ? t("Test") : t("Live")}
                    </Badge>
                  )
              },
              { name: "label", title: t("Label"), cell: (key) => <span className="soft">{key.label}</span> },
              {
                name: "limits",
                title: t("Limited to"),
                isExtra: true,
                cell: (key) => (
                  <span className="soft">{[...(key.scopes ?? []), ...(key.networks ?? [])].join(", ")}</span>
                )
              },
              {
                name: "used",
                title: t("Last used"),
                width: "130px",
                isExtra: true,
                cell: (key) => <span className="soft">{key.lastUsed ? ago(key.lastUsed) : t("never")}</span>
              },
              {
                name: "expires",
                title: t("Expires"),
                width: "120px",
                isExtra: true,
                cell: (key) => key.expires && <Badge tone="warning">{ago(key.expires)}</Badge>
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (key) => (
                  <Menu
                    label={t("More about this key")}
                    items={[
                      { title: t("Rotate"), act: () => rotate(key), isHidden: !place.may("applications", "update") },
                      {
                        title: t("Revoke"),
                        act: () => revoke(key),
                        isDanger: true,
                        isHidden: !place.may("applications", "update")
                      }
                    ]} />
                )
              }
            ]}
            empty={<Empty icon="keys" title={t("No keys")} />} />
        )}
      </Show>
      {isNew && (
        <NewKey
          close={() => setNew(false)}
          made={(answer) => {
            setNew(false);
            setShown(answer);
            list.reload();
          }} />
      )}
      {shown && (
        <Dialog title={t("The new key")} close={() => setShown(null)}>
          <Notice tone="warning">{t("It is shown this once.")}</Notice>
          <span className="secret">
            <code>{shown.key}</code>
            <Copy text={shown.key} />
          </span>
        </Dialog>
      )}
      {dialog}
    </Section>
  );
}

function NewKey({ close, made }: { close: () => void; made: (answer: Answer<"POST /admin/apps/{app}/keys">) => void }) {
  const place = usePlace();
  const [kind, setKind] = useState<Key["kind"]>("secret");
  const [label, setLabel] = useState("");
  const [environment, setEnvironment] = useState<"live" | "test">(place.environment);
  const [scopes, setScopes] = useState("");
  const [networks, setNetworks] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const hasEnvironment = kind === "client" || kind === "ingest" || kind === "evaluation";
  const split = (text: string) => (text.trim() ? text.split(/[\s,]+/).filter(Boolean) : undefined);
  const send = async () =>
    made(
      await callIn(place, "POST /admin/apps/{app}/keys", {
        body: {
          kind,
          label,
          environment: hasEnvironment ? environment : undefined,
          scopes: split(scopes),
          networks: split(networks)
        }
      })
    );
  return (
    <Dialog title={t("New key")} close={close}>
      <Form send={send} action={t("Create")} cancel={close} fields={["label", "scopes", "networks"]} report={report}>
        <Choice
          label={t("Kind")}
          value={kind}
          change={setKind}
          hint={t(kinds[kind].about)}
          options={(Object.keys(kinds) as Key["kind"][]).map((one) => ({ value: one, title: t(kinds[one].title) }))} />
        {hasEnvironment && (
          <Choice
            label={t("Environment")}
            value={environment}
            change={setEnvironment}
            options={[{ value: "live", title: t("Live") }, { value: "test", title: t("Test") }]} />
        )}
        <TextField
          label={t("Label")}
          value={label}
          change={setLabel}
          isOptional
          placeholder={t("Such as: release 2.4")}
          error={errorOf("label", problem)} />
        {(kind === "secret" || kind === "master") && (
          <TextField
            label={t("Scopes")}
            value={scopes}
            change={setScopes}
            isOptional
            isCode
            placeholder="storage, analytics:read"
            hint={t("Other areas of the API answer 403.")}
            error={errorOf("scopes", problem)} />
        )}
        <TextField
          label={t("Networks")}
          value={networks}
          change={setNetworks}
          isOptional
          isCode
          placeholder="10.0.0.0/8"
          error={errorOf("networks", problem)} />
      </Form>
    </Dialog>
  );
}

function Versions() {
  const place = usePlace();
  const list = usePages<Version>(
    (after) => callIn(place, "GET /admin/apps/{app}/versions", { query: { after, limit: 50 } }),
    [place.app.id]
  );
  const [edited, edit] = useState<Version | "new" | null>(null);
  const [dialog, ask] = useConfirm();
  const done = () => {
    edit(null);
    list.reload();
  };
  const remove = (version: Version) =>
    ask({
      title: t("Delete version {number}?", { number: version.number }),
      action: t("Delete"),
      text: t("Its notes and pictures are deleted with it."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/versions/{version}", { path: { version: version.number } });
        list.reload();
      }
    });
  return (
    <Section
      note={t("Versions narrow crashes, analytics and configurations to a release: choose one at the top.")}
      actions={place.may("applications", "create") && (
        <Button
          kind="primary"
          icon="plus"
          onPress={() => edit("new")}>
          {t("New version")}
        </Button>
      )}>
      <Show from={list}>
        {(versions) => (
          <Table
            label={t("Versions")}
            rows={versions}
            id={(version) => version.number}
            hasMore={list.hasMore}
            more={list.more}
            open={place.may("applications", "update") ? edit : undefined}
            columns={[
              {
                name: "number",
                title: t("Version"),
                width: "140px",
                cell: (version) => <span className="strong">{version.number}</span>
              },
              {
                name: "build",
                title: t("Build"),
                width: "110px",
                isExtra: true,
                cell: (version) => <span className="soft">{version.build}</span>
              },
              {
                name: "state",
                title: t("State"),
                width: "120px",
                cell: (version) => (
                  <Badge tone={version.state === "released" ? "good" : "neutral"}>
                    {version.state === "released" ? t("Released") : t("Planned")}
                  </Badge>
                )
              },
              {
                name: "date",
                title: t("Date"),
                width: "140px",
                cell: (version) => version.releaseDate && <span className="soft">{day(version.releaseDate)}</span>
              },
              {
                name: "notes",
                title: t("Notes"),
                isExtra: true,
                cell: (version) => <span className="soft">{Object.values(version.notes)[0]}</span>
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (version) => (
                  <Menu
                    label={t("More about {name}", { name: version.number })}
                    items={[
                      {
                        title: t("Delete"),
                        act: () => remove(version),
                        isDanger: true,
                        isHidden: !place.may("applications", "delete")
                      }
                    ]} />
                )
              }
            ]}
            empty={
              <Empty icon="apps" title={t("No versions yet")}>{t("Add those that you have released or plan.")}</Empty>
            } />
        )}
      </Show>
      {edited && <VersionForm version={edited === "new" ? null : edited} close={() => edit(null)} done={done} />}
      {dialog}
    </Section>
  );
}

function VersionForm({ version, close, done }: { version: Version | null; close: () => void; done: () => void }) {
  const place = usePlace();
  const [number, setNumber] = useState(version?.number ?? "");
  const [build, setBuild] = useState(version?.build ?? "");
  const [state, setState] = useState<Version["state"]>(version?.state ?? "planned");
  const [releaseDate, setDate] = useState(version?.releaseDate ?? "");
  const [notes, setNotes] = useState(version?.notes["en"] ?? "");
  const [problem, report] = useState<unknown>(undefined);
  const body = {
    number,
    build,
    state,
    releaseDate: releaseDate || null,
    notes: { ...version?.notes, ...(notes ? { en: notes } : {}) }
  };
  const send = async () => {
    if (version) {
      await callIn(place, "PATCH /admin/apps/{app}/versions/{version}", { path: { version: version.number }, body });
    } else await callIn(place, "POST /admin/apps/{app}/versions", { body });
    done();
  };
  return (
    <Dialog title={version ? t("Version {number}", { number: version.number }) : t("New version")} close={close}>
      <Form send={send} action={t("Save")} cancel={close} fields={["number", "build", "releaseDate"]} report={report}>
        <div className="pair">
          <TextField
            label={t("Version")}
            value={number}
            change={setNumber}
            isRequired
            autoFocus
            placeholder="1.2.0"
            error={errorOf("number", problem)} />
          <TextField label={t("Build")} value={build} change={setBuild} isOptional error={errorOf("build", problem)} />
        </div>
        <div className="pair">
          <Choice
            label={t("State")}
            value={state}
            change={setState}
            options={[{ value: "planned", title: t("Planned") }, { value: "released", title: t("Released") }]} />
          <TextField
            label={t("Date")}
            type="date"
            value={releaseDate}
            change={setDate}
            isOptional
            error={errorOf("releaseDate", problem)} />
        </div>
        <TextField label={t("Notes")} value={notes} change={setNotes} lines={4} isOptional />
      </Form>
    </Dialog>
  );
}

function AppForm() {
  const place = usePlace();
  const app = useLoad(() => callIn(place, "GET /admin/apps/{app}"), [place.app.id]);
  return <Show from={app}>{(data) => <AppFields app={data} saved={app.show} />}</Show>;
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
        isDisabled={!place.may("applications", "update")}>
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
      <p className="faint">
        {t("Id")} <code>{app.id}</code> · {t("Number")} {app.number} · {t("Created")} {day(app.created)}
      </p>
    </div>
  );
}
