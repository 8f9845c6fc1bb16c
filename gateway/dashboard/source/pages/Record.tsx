// One object: its fields, its JSON, and what it was before.

import { useState } from "react";
import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Copy, PageHead, sayProblem, Show, Tabs } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { JSONEditor, parse, pretty, useUnsaved } from "../system/json";
import { useLoad } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { say } from "../system/toast";
import { ago, t, time } from "../text";
import { ObjectHistory } from "./ObjectHistory";
import { Cell, StoredObject } from "./Records";

const path = "/admin/apps/{app}/storage/{collection}/{id}";
const system = ["_id", "created", "updated", "deleted", "_version"];

export function RecordPage({ collection, id }: { collection: string; id: string }) {
  const place = usePlace();
  const loaded = useLoad(async () => {
    const answer = await request("GET " + path, given(place, { collection, id }));
    return { tag: answer.tag, object: answer.body as StoredObject };
  }, [place.app.id, place.environment, collection, id]);
  const [dialog, ask] = useConfirm();
  const here = place.to(`storage/${encodeURIComponent(collection)}/${encodeURIComponent(id)}`);
  const back = { to: place.to("storage/" + encodeURIComponent(collection)), title: collection };
  return (
    <div className="page">
      <PageHead
        title={<code style={{ fontSize: 18 }}>{id}</code>}
        back={back}
        note={loaded.data?.object.updated && (
          <>
            {t("Changed {when}", { when: ago(loaded.data.object.updated) })} ·{" "}
            {t("Version {number}", { number: String(loaded.data.object._version ?? "") })}
          </>
        )}>
        <Copy text={JSON.stringify(loaded.data?.object, null, 2) ?? ""} label={t("Copy as JSON")} />
        {place.may("storage", "delete") && (
          <Button
            kind="danger"
            onPress={() =>
              ask({
                title: t("Delete this object?"),
                action: t("Delete"),
                text: t("Right afterwards you can store it again, as a new object with the same id."),
                act: async () => {
                  await request("DELETE " + path, given(place, { collection, id }));
                  const object = loaded.data && contentOf(loaded.data.object);
                  say(t("Deleted"), {
                    undo: object && place.may("storage", "create") ?
                      () =>
                        void request("POST /admin/apps/{app}/storage/{collection}", {
                          ...given(place, { collection }),
                          body: { ...object, _id: id },
                          headers: { "if-none-match": "*" }
                        }).then(() => go(here), sayProblem) :
                      undefined
                  });
                  go(back.to);
                }
              })}>
            {t("Delete")}
          </Button>
        )}
      </PageHead>
      <Show from={loaded}>
        {(data) => <Editor key={data.tag ?? ""} data={data} collection={collection} id={id} saved={loaded.reload} />}
      </Show>
      {dialog}
    </div>
  );
}

function Editor(
  { data, collection, id, saved }: {
    data: { tag: string | null; object: StoredObject };
    collection: string;
    id: string;
    saved: () => void;
  }
) {
  const place = usePlace();
  const content = contentOf(data.object);
  const stored = pretty(content);
  const [text, setText] = useState(stored);
  const { query } = useAddress();
  const tab = (["json", "history"] as const).find((one) => one === query.get("tab")) ?? "fields";
  const parsed = parse(text);
  const canUpdate = place.may("storage", "update");
  useUnsaved(text !== stored);
  const save = async () => {
    const store = (body: unknown, tag: string | null) =>
      request("PUT " + path, { ...given(place, { collection, id }), body, headers: tag ? { "if-match": tag } : {} });
    const { tag } = await store(parsed.value, data.tag);
    // Of use until somebody else changes the object.
    say(t("Saved"), { undo: tag ? () => void store(content, tag).then(saved, sayProblem) : undefined });
    saved();
  };
  return (
    <>
      <Tabs
        label={t("Views")}
        current={tab}
        choose={(next) => setQuery({ tab: next === "fields" ? "" : next })}
        tabs={[
          { name: "fields", title: t("Fields") },
          { name: "json", title: "JSON" },
          { name: "history", title: t("History") }
        ]} />
      {tab === "history" && <ObjectHistory collection={collection} id={id} on={data.tag} />}
      {tab === "fields" && (
        <div className="table">
          <table aria-label={t("Fields")}>
            <tbody>
              {[
                ...Object.entries(content),
                ...system.filter((name) => data.object[name] !== undefined && data.object[name] !== null).map((
                  name
                ) => [name, data.object[name]] as const)
              ].map(([name, value]) => (
                <tr key={name}>
                  <td style={{ width: "26%" }}>
                    <code className={system.includes(name) ? "faint" : ""}>{name}</code>
                  </td>
                  <td style={{ width: 100 }}>
                    <Badge>{kindOf(value)}</Badge>
                  </td>
                  <td className="wrap">
                    {(name === "created" || name === "updated") && typeof value === "string" ?
                      time(value) :
                      <Cell value={value} />}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {tab === "json" && (
        <div className="stack">
          <JSONEditor label={t("Object")} text={text} change={setText} isReadOnly={!canUpdate} lines={30} />
          {canUpdate && (
            <div className="row">
              <Button kind="primary" onPress={save} isDisabled={parsed.error !== undefined || text === stored}>
                {t("Save")}
              </Button>
              {text !== stored && <Button onPress={() => setText(stored)}>{t("Discard")}</Button>}
            </div>
          )}
        </div>
      )}
    </>
  );
}

const contentOf = (object: StoredObject) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !system.includes(name)));

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (typeof value === "object") return (value as { __type?: string }).__type ?? "object";
  return typeof value;
}
