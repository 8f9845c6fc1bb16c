// Rules and schema of a collection, as JSON with the server's refusals where they belong.

import { useState } from "react";
import { request } from "../api/client";
import { Problem } from "../api/problem";
import { given, usePlace } from "../shell/place";
import { Button, Notice, sayProblem, Show } from "../system/basics";
import { Finding, JSONEditor, parse, pretty, useUnsaved } from "../system/json";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { t } from "../text";
import { RulesTester, RuleVersions } from "./RulesTester";

/** Rules or schema: JSON, with the server's refusal shown where it is. */
export function JSONPart({ collection, part }: { collection: string; part: "rules" | "schema" }) {
  const place = usePlace();
  const address = `/admin/apps/{app}/collections/{collection}/${part}`;
  const loaded = useLoad(async () => {
    try {
      return { text: pretty((await request("GET " + address, given(place, { collection }))).body), exists: true };
    } catch (error) {
      if (error instanceof Problem && error.status === 404) {
        return {
          text: part === "rules" ? '{\n  "rules": {}\n}' : '{\n  "type": "object",\n  "properties": {}\n}',
          exists: false
        };
      }
      throw error;
    }
  }, [place.app.id, place.environment, collection, part]);
  return (
    <div style={{ overflowY: "auto", paddingBottom: 24 }} className="stack">
      <p className="note">
        {part === "rules" ?
          t("Who may read and write. Without a rule, the access of the environment decides: closed or open.") :
          t("A JSON Schema says what objects look like. From then on, every write is checked.")}
      </p>
      <Show from={loaded}>
        {(data) => (
          <JSONPartEditor
            key={data.text}
            collection={collection}
            part={part}
            stored={data.text}
            exists={data.exists}
            saved={loaded.reload}
            address={address} />
        )}
      </Show>
      {part === "rules" && loaded.data?.exists && (
        <>
          <RulesTester collection={collection} />
          <RuleVersions key={loaded.data.text} collection={collection} changed={loaded.reload} />
        </>
      )}
    </div>
  );
}

function JSONPartEditor(
  { collection, part, stored, exists, saved, address }: {
    collection: string;
    part: string;
    stored: string;
    exists: boolean;
    saved: () => void;
    address: string;
  }
) {
  const place = usePlace();
  const [text, setText] = useState(stored);
  const [findings, setFindings] = useState<Finding[]>([]);
  const [report, setReport] = useState<Record<string, any> | null>(null);
  const parsed = parse(text);
  const canUpdate = place.may("storage", "update");
  useUnsaved(canUpdate && text !== stored, undefined, true);
  const put = async (body: unknown) =>
    (await request("PUT " + address, { ...given(place, { collection }), body })).body;
  const remove = async () => {
    await request("DELETE " + address, given(place, { collection }));
    saved();
    say(t("Removed"), { undo: () => void put(parse(stored).value).then(saved, sayProblem) });
  };
  const save = async () => {
    setReport(null);
    try {
      const answer = await put(parsed.value);
      if (answer && typeof answer.misfits === "number" && answer.misfits > 0) setReport(answer);
      say(t("Saved"));
      setText(pretty(parsed.value));
      saved();
    } catch (error) {
      if (!(error instanceof Problem) || error.status < 400 || error.status >= 500 || error.status === 403) throw error;
      const refusal = error;
      const list = (error.body["findings"] ?? error.body["errors"]) as Record<string, string>[] | undefined;
      setFindings(
        list?.length ?
          list.map((one) => ({
            severity: "error" as const,
            path: one["path"] ?? one["pointer"] ?? "",
            message: one["message"] ?? one["detail"] ?? refusal.detail
          })) :
          [{ severity: "error" as const, path: pointerOf(error.field), message: error.detail }]
      );
      if (Array.isArray(error.body["first"])) setReport(error.body);
    }
  };
  return (
    <div className="stack">
      <JSONEditor
        label={part}
        text={text}
        findings={findings}
        isReadOnly={!canUpdate}
        lines={26}
        change={(next) => {
          setText(next);
          setFindings([]);
        }} />
      {report && (
        <Notice tone="warning">
          {t("{n} of the stored objects do not fit.", { n: report["misfits"] ?? 0 })}{" "}
          {((report["first"] ?? []) as { id: string; pointer: string; message: string }[]).slice(0, 5).map((one) => (
            <p key={one.id + one.pointer}>
              <code>{one.id}</code> {one.pointer}: {one.message}
            </p>
          ))}
        </Notice>
      )}
      <div className="row">
        {canUpdate && (
          <Button kind="primary" onPress={save} isDisabled={parsed.error !== undefined || (text === stored && exists)}>
            {t("Save")}
          </Button>
        )}
        {part === "schema" && exists && place.may("storage", "delete") && (
          <Button kind="danger" onPress={remove}>{t("Remove the schema")}</Button>
        )}
      </div>
    </div>
  );
}

/** `rules.read[0].who` as a JSON Pointer. */
function pointerOf(field: string | undefined): string {
  if (!field) return "";
  if (field.startsWith("/")) return field;
  return "/" +
    field.replace(/\[(\d+)\]/g, ".$1").split(".").map((part) => part.replace(/~/g, "~0").replace(/\//g, "~1")).join(
      "/"
    );
}
