// Collections of an app, and what is done with one.

import { useState } from "react";
import { download, request } from "../api/client";
import { may } from "../api/session";
import { given, usePlace } from "../shell/place";
import { Button, Empty, Link, Menu, PageHead, sayProblem, Show, Tabs } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Form, TextField } from "../system/form";
import { JSONEditor, parse } from "../system/json";
import { lazy } from "../system/lazy";
import { useLoad } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { say } from "../system/toast";
import { bytes, compact, t, Text } from "../text";
import { historyOf } from "./Audit";
import { Records } from "./Records";

const ImportDialog = lazy(async () => (await import("./Import")).ImportDialog);
const JSONPart = lazy(async () => (await import("./CollectionRules")).JSONPart);
const Indexes = lazy(async () => (await import("./Indexes")).Indexes);

interface Collection {
  name: string;
  estimatedCount: number;
  sizeInBytes: number;
}

type Tab = "records" | "rules" | "schema" | "indexes";

export function StoragePage({ collection }: { collection: string }) {
  const place = usePlace();
  const { query } = useAddress();
  const tab = (["records", "rules", "schema", "indexes"] as const).find((one) => one === query.get("tab")) ?? "records";
  const list = useLoad(
    async () => (await request("GET /admin/apps/{app}/collections", given(place))).body.data as Collection[],
    [place.app.id, place.environment]
  );
  const [isNew, setNew] = useState(false);
  const canCreate = place.may("storage", "create");
  const present = collection || list.data?.find((one) => !one.name.startsWith("_"))?.name || "";
  const make = canCreate && (
    <Button
      kind={present ? "normal" : "primary"}
      icon="plus"
      onPress={() => setNew(true)}>
      {t("New object")}
    </Button>
  );
  return (
    <div className="page full" style={{ gap: 16 }}>
      <PageHead title={present || t("Storage")}>
        {present && <CollectionMenu collection={present} changed={list.reload} />}
        {make}
      </PageHead>
      <Show from={list}>
        {(collections) =>
          !present ?
            (
              <Empty icon="data" title={t("Nothing is stored yet")} action={make}>
                {t("A collection is created with its first object. Store one here, or from your server.")}
              </Empty>
            ) :
            (
              <div className="workspace">
                <nav className="shelf" aria-label={t("Collections")}>
                  {collections.map((one) => (
                    <Link
                      key={one.name}
                      to={place.to("storage/" + encodeURIComponent(one.name))}
                      current={one.name === present}>
                      <span>{one.name}</span>
                      <span className="faint" title={bytes(one.sizeInBytes)}>
                        {one.estimatedCount > 0 ? compact(one.estimatedCount) : ""}
                      </span>
                    </Link>
                  ))}
                </nav>
                <div className="sheet">
                  <Tabs<Tab>
                    label={t("Views")}
                    current={tab}
                    choose={(next) => setQuery({ tab: next === "records" ? "" : next })}
                    tabs={[
                      { name: "records", title: t("Records") },
                      { name: "rules", title: t("Rules") },
                      { name: "schema", title: t("Schema") },
                      { name: "indexes", title: t("Indexes") }
                    ]} />
                  {tab === "records" ?
                    <Records key={present} collection={present} /> :
                    tab === "indexes" ?
                    <Indexes key={present} collection={present} /> :
                    <JSONPart key={present + tab} collection={present} part={tab} />}
                </div>
              </div>
            )}
      </Show>
      {isNew && (
        <NewObject
          collection={present}
          close={() => setNew(false)}
          made={(name) => {
            setNew(false);
            list.reload();
            go(place.to("storage/" + encodeURIComponent(name), { at: String(Date.now()) }));
          }} />
      )}
    </div>
  );
}

type Format = "csv" | "json" | "jsonl";
const formats: Record<Format, Text> = { csv: "Export as CSV", json: "Export as JSON", jsonl: "Export as JSON lines" };

function CollectionMenu({ collection, changed }: { collection: string; changed: () => void }) {
  const place = usePlace();
  const [dialog, ask] = useConfirm();
  const [isImporting, setImporting] = useState(false);
  const save = (format: Format) =>
    void download(
      "GET /admin/apps/{app}/exports/{collection}",
      { ...given(place, { collection }), query: { format } },
      `${collection}.${format}`
    ).catch(sayProblem);
  const remove = () =>
    ask({
      title: t("Delete {name}?", { name: collection }),
      action: t("Delete"),
      typed: collection,
      text: t("All of its objects, rules and indexes will be deleted for good."),
      act: async () => {
        await request("DELETE /admin/apps/{app}/collections/{collection}", given(place, { collection }));
        changed();
        go(place.to("storage"));
      }
    });
  return (
    <>
      <Menu
        label={t("More about {name}", { name: collection })}
        items={[
          {
            title: t("Import a file…"),
            isHidden: !place.may("storage", "create"),
            act: () => setImporting(true)
          },
          ...(Object.keys(formats) as Format[]).map((format) => ({
            title: t(formats[format]),
            act: () => save(format)
          })),
          {
            title: t("Changes by staff"),
            isHidden: !may("audit", "read"),
            act: () =>
              go(
                historyOf({
                  area: "storage",
                  app: place.app.id,
                  environment: place.environment,
                  target: collection
                })
              )
          },
          {
            title: t("Delete the collection"),
            isDanger: true,
            isHidden: !place.may("storage", "delete"),
            act: remove
          }
        ]} />
      {isImporting && (
        <ImportDialog
          collection={collection}
          close={() => setImporting(false)}
          done={() => {
            changed();
            setQuery({ at: String(Date.now()) });
          }} />
      )}
      {dialog}
    </>
  );
}

function NewObject(
  { collection, close, made }: { collection: string; close: () => void; made: (collection: string) => void }
) {
  const place = usePlace();
  const [name, setName] = useState(collection);
  const [text, setText] = useState('{\n  "title": ""\n}');
  const parsed = parse(text);
  const send = async () => {
    await request("POST /admin/apps/{app}/storage/{collection}", {
      ...given(place, { collection: name }),
      body: parsed.value
    });
    say(t("Saved"));
    made(name);
  };
  return (
    <Dialog title={t("New object")} close={close} isWide>
      <Form send={send} action={t("Save")} cancel={close} isDisabled={parsed.error !== undefined}>
        <TextField
          label={t("Collection")}
          value={name}
          change={setName}
          isRequired
          autoFocus
          placeholder="Notes"
          hint={t("A new name creates a new collection.")} />
        <JSONEditor label={t("Object")} text={text} change={setText} />
      </Form>
    </Dialog>
  );
}
