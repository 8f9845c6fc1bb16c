// Indexes of a collection, and those that the server advises.

import { useState } from "react";
import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Empty, Menu, Notice, Section, Show } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { t } from "../text";

interface Index {
  name: string;
  fields: string[];
  unique: boolean;
  kind: string;
  state: string;
  error?: { detail?: string };
}

/** A slow query. `index` is absent if none would help. */
interface Advice {
  filter: string[];
  rule?: string[];
  order: string[];
  count: number;
  meanMilliseconds: number;
  index?: { kind: string; fields: string[] };
}

export function Indexes({ collection }: { collection: string }) {
  const place = usePlace();
  const list = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/collections/{collection}/indexes", given(place, { collection }))).body
        .data as Index[],
    [place.app.id, place.environment, collection]
  );
  const advice = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/collections/{collection}/advice", given(place, { collection }))).body as {
        data?: Advice[];
      },
    [place.app.id, place.environment, collection]
  );
  const [dialog, ask] = useConfirm();
  const [fields, setFields] = useState("");
  const [kind, setKind] = useState("ordered");
  const [isUnique, setUnique] = useState("no");
  const make = async (names: string[], of = kind) => {
    await request("POST /admin/apps/{app}/collections/{collection}/indexes", {
      ...given(place, { collection }),
      body: { fields: names, kind: of, ...(isUnique === "yes" ? { unique: true } : {}) }
    });
    setFields("");
    list.reload();
    advice.reload();
  };
  const canUpdate = place.may("storage", "create");
  return (
    <div className="stack-large" style={{ overflowY: "auto", paddingBottom: 24 }}>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Indexes")}
            rows={rows}
            id={(one) => one.name}
            empty={
              <Empty icon="data" title={t("No indexes of its own")}>
                {t("Filters by equality are fast without an index. Add one for ranges and orders over many objects.")}
              </Empty>
            }
            columns={[
              { name: "name", title: t("Name"), cell: (one) => <code>{one.name}</code> },
              { name: "fields", title: t("Fields"), cell: (one) => one.fields.join(", ") },
              {
                name: "kind",
                title: t("Kind"),
                width: "110px",
                cell: (one) => one.kind
              },
              {
                name: "unique",
                title: "",
                width: "90px",
                cell: (one) => one.unique && <Badge tone="accent">{t("unique")}</Badge>
              },
              {
                name: "state",
                title: t("State"),
                width: "110px",
                cell: (one) => (
                  <Badge tone={one.state === "ready" ? "good" : one.state === "failed" ? "bad" : "accent"}>
                    {one.state}
                  </Badge>
                )
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (one) => (
                  <Menu
                    label={t("More about {name}", { name: one.name })}
                    items={[{
                      title: t("Delete"),
                      isDanger: true,
                      isHidden: !place.may("storage", "delete"),
                      act: () =>
                        ask({
                          title: t("Delete {name}?", { name: one.name }),
                          action: t("Delete"),
                          text: t("Lists that used it become slower."),
                          act: async () => {
                            await request(
                              "DELETE /admin/apps/{app}/collections/{collection}/indexes/{index}",
                              given(place, { collection, index: one.name })
                            );
                            list.reload();
                          }
                        })
                    }]} />
                )
              }
            ]} />
        )}
      </Show>
      {(advice.data?.data?.length ?? 0) > 0 && (
        <Section title={t("Advice")}>
          {advice.data?.data?.map((one, index) => {
            const { filter, rule = [], order, index: advised } = one;
            return (
              <Notice key={index} tone="warning">
                <span className="row">
                  <span>
                    {t("{count} slow queries, {time} ms on average:", { count: one.count, time: one.meanMilliseconds })}{" "}
                    <code>{[...filter, ...rule, ...order.map((name) => `order ${name}`)].join(", ")}</code>{" "}
                    {advised ? t("An index would help:") : t("No index would help.")}{" "}
                    {advised && <code>{`${advised.kind} ${advised.fields.join(", ")}`}</code>}
                  </span>
                  {advised && canUpdate && (
                    <Button isSmall onPress={() => make(advised.fields, advised.kind)}>{t("Make this index")}</Button>
                  )}
                </span>
              </Notice>
            );
          })}
        </Section>
      )}
      {canUpdate && (
        <Section title={t("New index")}>
          <Form
            send={() => make(fields.split(/[\s,]+/).filter(Boolean))}
            action={t("Create")}
            isDisabled={!fields.trim()}>
            <div className="pair">
              <TextField
                label={t("Fields")}
                value={fields}
                change={setFields}
                isCode
                placeholder="age, -title"
                hint={t("Put - in front for descending order.")} />
              <Choice
                label={t("Kind")}
                value={kind}
                change={setKind}
                options={["ordered", "prefix", "text", "geo"].map((one) => ({ value: one, title: one }))} />
              <Choice
                label={t("Unique")}
                value={isUnique}
                change={setUnique}
                options={[{ value: "no", title: t("no") }, { value: "yes", title: t("yes") }]} />
            </div>
          </Form>
        </Section>
      )}
      {dialog}
    </div>
  );
}
