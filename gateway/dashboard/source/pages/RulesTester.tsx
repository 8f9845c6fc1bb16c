// Tries the stored rules: who may do what with which object, and which entry decides.

import { useState } from "react";
import type { RuleVerdict } from "../../generated/api";
import { callIn, given, usePlace } from "../shell/place";
import { request } from "../api/client";
import { Badge, Button, Notice, Section, Show } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { JSONEditor, parse } from "../system/json";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, t, Text, time } from "../text";

type Operation = "get" | "find" | "create" | "update" | "delete";
const operations: Record<Operation, Text> = {
  get: "Read one",
  find: "See in lists",
  create: "Create",
  update: "Change",
  delete: "Delete"
};

export function RulesTester({ collection }: { collection: string }) {
  const place = usePlace();
  const [operation, setOperation] = useState<Operation>("get");
  const [user, setUser] = useState("");
  const [roles, setRoles] = useState("");
  const [object, setObject] = useState("");
  const [document, setDocument] = useState("{}");
  const [verdict, setVerdict] = useState<RuleVerdict | null>(null);
  const hasDocument = operation === "create" || operation === "update";
  const parsed = parse(document);
  const send = async () => {
    const names = roles.split(",").map((role) => role.trim()).filter(Boolean);
    const content = parsed.value as Record<string, unknown>;
    setVerdict(
      await callIn(place, "POST /admin/apps/{app}/collections/{collection}/rules/test", {
        path: { collection },
        body: {
          operation,
          user: user.trim() || null,
          ...(names.length > 0 ? { roles: names } : {}),
          ...(operation === "create" ? { document: content } : { object: object.trim() }),
          ...(operation === "update" ? { change: content } : {})
        }
      })
    );
  };
  return (
    <Section title={t("Try the rules")} note={t("Asks the server with the rules that are stored. Nothing is changed.")}>
      <Form send={send} action={t("Try")} isDisabled={hasDocument && parsed.error !== undefined}>
        <div className="pair">
          <Choice
            label={t("What")}
            value={operation}
            change={setOperation}
            options={(Object.keys(operations) as Operation[]).map((one) => ({
              value: one,
              title: t(operations[one])
            }))} />
          <TextField
            label={t("Id of a user")}
            value={user}
            change={setUser}
            isCode
            isOptional
            hint={t("Empty: somebody who is not signed in.")} />
          <TextField
            label={t("Roles")}
            value={roles}
            change={setRoles}
            isCode
            isOptional
            hint={t("Instead of those that the user has.")} />
          {operation !== "create" && (
            <TextField label={t("Id of the object")} value={object} change={setObject} isCode isRequired />
          )}
        </div>
        {hasDocument && <JSONEditor label={t("Object")} text={document} change={setDocument} lines={8} />}
      </Form>
      {verdict && (
        <Notice tone={verdict.allowed ? "good" : "bad"}>
          <strong>{verdict.allowed ? t("Allowed.") : t("Refused.")}</strong>{" "}
          {verdict.entry && t("What decides: {entry}", { entry: verdict.entry })}
          {verdict.nearest && <code className="break">{verdict.nearest.failed}</code>}
        </Notice>
      )}
    </Section>
  );
}

interface Version {
  number: number;
  at: string;
  author?: string;
}

export function RuleVersions({ collection, changed }: { collection: string; changed: () => void }) {
  const place = usePlace();
  const [dialog, ask] = useConfirm();
  const list = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/collections/{collection}/rules/versions", { path: { collection } }),
    [place.app.id, place.environment, collection]
  );
  const restore = (version: Version) =>
    ask({
      title: t("Go back to version {n}?", { n: version.number }),
      action: t("Go back"),
      isDanger: false,
      text: t("Its rules are in force at once, as a new version."),
      act: async () => {
        await request(
          "POST /admin/apps/{app}/collections/{collection}/rules/versions/{number}/restore",
          given(place, { collection, number: version.number })
        );
        say(t("Saved"));
        list.reload();
        changed();
      }
    });
  return (
    <Section title={t("Versions")}>
      <Show from={list} lines={2}>
        {(found) => (
          <Table
            label={t("Versions")}
            rows={found.data as Version[]}
            id={(one) => one.number}
            empty={<p className="faint">{t("No rules were stored yet.")}</p>}
            columns={[
              { name: "number", title: t("Version"), width: "100px", cell: (one) => one.number },
              {
                name: "at",
                title: t("When"),
                width: "150px",
                cell: (one) => <span className="soft" title={time(one.at)}>{ago(one.at)}</span>
              },
              { name: "by", title: t("By"), isExtra: true, cell: (one) => <span className="soft">{one.author}</span> },
              {
                name: "act",
                title: "",
                width: "130px",
                cell: (one) =>
                  one.number === found.data[0]?.number ?
                    <Badge tone="good">{t("In force")}</Badge> :
                    place.may("storage", "update") && (
                      <Button isSmall onPress={() => restore(one)}>{t("Go back")}</Button>
                    )
              }
            ]} />
        )}
      </Show>
      {dialog}
    </Section>
  );
}
