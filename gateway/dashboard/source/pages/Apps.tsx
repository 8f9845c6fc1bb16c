import { useState } from "react";
import type { App, AppName } from "../../generated/api";
import { Answer, call } from "../api/client";
import { may } from "../api/session";
import { addressOf } from "../shell/place";
import { Badge, Button, Copy, Empty, Link, Menu, Notice, PageHead, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Check, errorOf, Form, TextField } from "../system/form";
import { usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, t, Text } from "../text";

type Row = AppName & Partial<App>;

/** Tells the frame to read the list of apps again. */
export function appsChanged(): void {
  window.dispatchEvent(new Event("martlet:apps"));
}

export function AppsPage() {
  const { query } = useAddress();
  const showsArchived = query.get("archived") === "yes";
  const list = usePages<Row>(
    async (after) =>
      (await call("GET /admin/apps", { query: { archived: showsArchived, after, limit: 50 } })) as {
        data: Row[];
        next?: string;
      },
    [showsArchived]
  );
  const [isNew, setNew] = useState(query.get("new") === "1");
  const [dialog, ask] = useConfirm();
  const changed = () => {
    list.reload();
    appsChanged();
  };
  const archive = (app: Row) =>
    ask({
      title: t("Archive {name}?", { name: app.name }),
      action: t("Archive"),
      typed: app.name,
      text: t("Its keys stop working within two seconds. Its data stay, and you can restore it."),
      act: async () => {
        await call("POST /admin/apps/{app}/archive", { path: { app: app.id } });
        changed();
      }
    });
  const restore = async (app: Row) => {
    await call("POST /admin/apps/{app}/restore", { path: { app: app.id } });
    say(t("{name} is back.", { name: app.name }));
    changed();
  };
  const canCreate = may("applications", "create");
  return (
    <div className="page">
      <PageHead title={t("Apps")} note={t("Each app has its own users, data and keys, apart from all others.")}>
        <Check
          label={t("Show archived")}
          value={showsArchived}
          change={(next) => setQuery({ archived: next ? "yes" : "" })} />
        {canCreate && <Button kind="primary" icon="plus" onPress={() => setNew(true)}>{t("New app")}</Button>}
      </PageHead>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Apps")}
            rows={rows}
            id={(app) => app.id}
            hasMore={list.hasMore}
            more={list.more}
            to={(app) => addressOf(app.id, "live", "", "overview")}
            empty={
              <Empty
                icon="apps"
                title={t("No app yet")}
                action={canCreate && <Button kind="primary" onPress={() => setNew(true)}>{t("New app")}</Button>}>
                {t("An app is what your clients sign in to and store their data in.")}
              </Empty>
            }
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (app) => <Link to={addressOf(app.id, "live", "", "overview")}>{app.name}</Link>
              },
              {
                name: "state",
                title: "",
                width: "110px",
                cell: (app) => app.archived && <Badge>{t("Archived")}</Badge>
              },
              {
                name: "bundles",
                title: t("Bundle ids"),
                isExtra: true,
                cell: (app) => <span className="soft">{app.bundleIds?.join(", ")}</span>
              },
              {
                name: "id",
                title: t("Id"),
                width: "150px",
                isExtra: true,
                cell: (app) => <code className="soft">{app.id}</code>
              },
              {
                name: "created",
                title: t("Created"),
                width: "140px",
                isExtra: true,
                cell: (app) => app.created && <span className="soft">{ago(app.created)}</span>
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (app) => (
                  <Menu
                    label={t("More about {name}", { name: app.name })}
                    items={[
                      {
                        title: t("Archive"),
                        act: () => archive(app),
                        isDanger: true,
                        isHidden: app.archived !== null || !may("applications", "delete", app.id)
                      },
                      {
                        title: t("Restore"),
                        act: () => void restore(app),
                        isHidden: app.archived === null || !may("applications", "delete", app.id)
                      }
                    ]} />
                )
              }
            ]} />
        )}
      </Show>
      {isNew && (
        <NewApp
          close={() => {
            setNew(false);
            setQuery({ new: "" });
          }}
          made={changed} />
      )}
      {dialog}
    </div>
  );
}

function NewApp({ close, made }: { close: () => void; made: () => void }) {
  const [name, setName] = useState("");
  const [bundles, setBundles] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const [answer, setAnswer] = useState<Answer<"POST /admin/apps"> | null>(null);
  const send = async () => {
    const bundleIds = bundles.split(/[\s,]+/).filter(Boolean);
    setAnswer(await call("POST /admin/apps", { body: { name, bundleIds } }));
    made();
  };
  if (answer) {
    return (
      <Dialog title={t("{name} is ready", { name: answer.app.name })} close={close} isWide>
        <Notice tone="warning">
          {t("These keys are shown only once. Store the master key where only your server can read it.")}
        </Notice>
        <dl className="facts">
          {Object.entries(keyNames).map(([name, title]) => {
            const value = answer.keys[name];
            return value === undefined ? null : <Key key={name} name={name} title={t(title)} value={String(value)} />;
          })}
        </dl>
        <footer>
          <Link className="button primary" to={addressOf(answer.app.id, "live", "", "overview")}>
            {t("Open {name}", { name: answer.app.name })}
          </Link>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title={t("New app")} close={close}>
      <Form send={send} action={t("Create")} cancel={close} fields={["name", "bundleIds"]} report={report}>
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          autoFocus
          isRequired
          maximumLength={100}
          error={errorOf("name", problem)} />
        <TextField
          label={t("Bundle ids")}
          value={bundles}
          change={setBundles}
          isOptional
          placeholder="org.example.shop"
          hint={t("Separated by commas. Push and sign-in with Apple need them.")}
          error={errorOf("bundleIds", problem)} />
      </Form>
    </Dialog>
  );
}

/** The keys of a new app, in the order in which they are needed. */
const keyNames: Record<string, Text> = {
  appKey: "App key",
  secret: "Secret",
  ingestKey: "Ingest key",
  masterKey: "Master key",
  testAppKey: "App key of the test environment",
  appNumber: "Number, for Sentry's clients",
  appId: "Id"
};

function Key({ name, title, value }: { name: string; title: string; value: string }) {
  return (
    <>
      <dt>{title}</dt>
      <dd data-key={name}>
        <span className="secret">
          <code>{value}</code>
          <Copy text={value} />
        </span>
      </dd>
    </>
  );
}
