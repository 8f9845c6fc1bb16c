// Rules of a collection, as a form or as JSON, and its schema, as JSON. The server's refusals are shown where they
// belong.

import { useRef, useState } from "react";
import { request } from "../api/client";
import { Problem } from "../api/problem";
import { given, usePlace } from "../shell/place";
import { Button, explain, Notice, sayProblem, Show, Tabs } from "../system/basics";
import { errorOf, hasWrongText } from "../system/form";
import { Finding, JSONEditor, parse, pretty, useUnsaved } from "../system/json";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { t } from "../text";
import { CollectionRulesForm, rulesFields } from "./CollectionRulesForm";
import { isRecord } from "./flagRules";
import { pointerOf } from "./pointer";
import { RulesTester, RuleVersions } from "./RulesTester";

type View = "form" | "json";

export function JSONPart({ collection, part }: { collection: string; part: "rules" | "schema" }) {
  const place = usePlace();
  const address = `/admin/apps/{app}/collections/{collection}/${part}`;
  const [view, setView] = useState<View>(part === "rules" ? "form" : "json");
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
            address={address}
            view={view}
            setView={setView} />
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
  { collection, part, stored, exists, saved, address, view, setView }: {
    collection: string;
    part: string;
    stored: string;
    exists: boolean;
    saved: () => void;
    address: string;
    view: View;
    setView: (view: View) => void;
  }
) {
  const place = usePlace();
  const [text, setText] = useState(stored);
  const [findings, setFindings] = useState<Finding[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [report, setReport] = useState<Record<string, any> | null>(null);
  const fields = useRef<HTMLFieldSetElement | null>(null);
  const parsed = parse(text);
  const shown = isRecord(parsed.value) ? parsed.value : undefined;
  const canUpdate = place.may("storage", "update");
  useUnsaved(canUpdate && text !== stored, fields, true);
  const set = (next: string) => {
    setText(next);
    setFindings([]);
    setProblem(null);
  };
  const put = async (body: unknown) =>
    (await request("PUT " + address, { ...given(place, { collection }), body })).body;
  const remove = async () => {
    await request("DELETE " + address, given(place, { collection }));
    saved();
    say(t("Removed"), { undo: () => void put(parse(stored).value).then(saved, sayProblem) });
  };
  const save = async () => {
    if (hasWrongText(fields.current, true)) return;
    setReport(null);
    setProblem(null);
    try {
      const answer = await put(parsed.value);
      if (answer && typeof answer.misfits === "number" && answer.misfits > 0) setReport(answer);
      say(t("Saved"));
      setText(pretty(parsed.value));
      saved();
    } catch (error) {
      if (!(error instanceof Problem) || error.status < 400 || error.status >= 500 || error.status === 403) throw error;
      const refusal = error;
      setProblem(error);
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
      {part === "rules" && (
        <Tabs<View>
          label={t("Form or JSON")}
          current={view}
          choose={(next) => hasWrongText(fields.current) || setView(next)}
          tabs={[{ name: "form", title: t("Form") }, { name: "json", title: "JSON" }]} />
      )}
      {view === "json" ?
        (
          <JSONEditor
            label={part}
            text={text}
            findings={findings}
            isReadOnly={!canUpdate}
            lines={26}
            change={set} />
        ) :
        shown ?
        (
          <fieldset ref={fields} disabled={!canUpdate}>
            <CollectionRulesForm
              collection={collection}
              rules={shown}
              change={(next) => set(pretty(next))}
              problem={problem} />
          </fieldset>
        ) :
        <Notice tone="bad">{t("The JSON has an error. Fix it in the JSON tab first.")}</Notice>}
      {view === "form" && problem && rulesFields.every((field) => errorOf(field, problem) === undefined) && (
        <Notice tone="bad">{explain(problem).detail}</Notice>
      )}
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
