// The texts of a version: keys × languages, each edited in its cell.

import { useEffect, useRef, useState } from "react";
import { request } from "../api/client";
import { given, Place, usePlace } from "../shell/place";
import { Badge, Button, Empty, sayProblem, Show } from "../system/basics";
import { Select } from "../system/form";
import { Finding, Severity } from "../system/json";
import { useLoad, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { percent, t } from "../text";
import { TextFilter } from "./Audit";
import { path as documentPath } from "./document";
import { Add } from "./LanguageAdd";
import { PluralDialog } from "./LanguagePlural";

interface Unit {
  stringUnit?: { state?: string; value?: string };
  variations?: { plural?: Record<string, Unit> };
}

interface Row {
  key: string;
  entry: { comment?: string; localizations?: Record<string, Unit> };
  states: Record<string, string>;
}

interface Coverage {
  sourceLanguage: string;
  keys: number;
  data: { language: string; published: boolean; missing: number; needsReview: number }[];
}

export const base = "/admin/apps/{app}/config/translation/{name}";

/** `changed` is called after each write, so that the page knows of it. */
export function Grid({ name, changed }: { name: string; changed: () => void }) {
  const place = usePlace();
  const { query } = useAddress();
  const [search, missing] = [query.get("search") ?? "", query.get("missing") ?? ""];
  const coverage = useLoad(
    async () => (await request(`GET ${base}/coverage`, given(place, { name }))).body as Coverage,
    [name, place.environment]
  );
  const list = usePages<Row>(
    async (after) =>
      (await request(`GET ${base}/keys`, { ...given(place, { name }), query: { search, missing, after, limit: 100 } }))
        .body,
    [name, place.environment, search, missing]
  );
  const checks = useLoad(
    async () =>
      ((await request(`POST ${documentPath}/check`, given(place, { kind: "translation", name }))).body.findings ??
        []) as Finding[],
    [name, place.environment]
  );
  const [isAdding, setAdding] = useState<"key" | "language" | null>(null);
  const canEdit = place.may("languages", "update");
  const languages = (coverage.data?.data ?? []).map((one) => one.language).sort((a, b) =>
    Number(b === coverage.data?.sourceLanguage) - Number(a === coverage.data?.sourceLanguage)
  );
  // Once one language is declared, those that are not are off. So each call declares all.
  const published = Object.fromEntries((coverage.data?.data ?? []).map((one) => [one.language, one.published]));
  const refresh = () => {
    coverage.reload();
    checks.reload();
    changed();
  };
  const write = async (row: Row, language: string, unit: Unit) => {
    const former = row.entry.localizations?.[language] ?? {};
    await patchKey(place, name, row.key, { localizations: { [language]: patchOf(former, unit) } });
    // A text has forms or not.
    const { stringUnit: _, variations: __, ...rest } = former;
    const entry = { ...row.entry, localizations: { ...row.entry.localizations, [language]: { ...rest, ...unit } } };
    list.show(
      (list.data ?? []).map((
        one
      ) => (one.key === row.key ? { ...one, entry, states: { ...one.states, [language]: "translated" } } : one))
    );
    refresh();
  };
  const turn = async (language: string, isOn: boolean) => {
    await patchLanguages(place, name, { ...published, [language]: isOn });
    refresh();
  };
  return (
    <div className="stack">
      <div className="toolbar">
        <span className="grow">
          <TextFilter name="search" value={search} label={t("Find in keys and texts")} />
        </span>
        <Select
          label={t("Missing in")}
          value={missing}
          change={(next) => setQuery({ missing: next })}
          options={[
            { value: "", title: t("All keys") },
            ...languages.map((one) => ({ value: one, title: t("Missing in {language}", { language: one }) }))
          ]} />
        {canEdit && <Button icon="plus" onPress={() => setAdding("key")}>{t("New key")}</Button>}
        {canEdit && <Button icon="plus" onPress={() => setAdding("language")}>{t("New language")}</Button>}
      </div>
      <Checks findings={checks.data ?? []} />
      <Show from={list}>
        {(rows) =>
          rows.length === 0 ?
            (
              <Empty
                icon="languages"
                title={search || missing ? t("Nothing matches") : t("No texts yet")}
                action={canEdit && !search && !missing ?
                  <Button kind="primary" onPress={() => setAdding("key")}>{t("New key")}</Button> :
                  undefined} />
            ) :
            (
              <div className="table translations">
                <table aria-label={t("Texts")}>
                  <thead>
                    <tr>
                      <th scope="col">{t("Key")}</th>
                      {languages.map((language) => {
                        const state = coverage.data?.data.find((one) => one.language === language);
                        const share = coverage.data && coverage.data.keys > 0 && state ?
                          1 - state.missing / coverage.data.keys :
                          1;
                        return (
                          <th key={language} scope="col">
                            <span className="row">
                              {language}
                              {language === coverage.data?.sourceLanguage ?
                                <Badge>{t("source")}</Badge> :
                                <Badge tone={share === 1 ? "good" : "warning"}>{percent(share, 0)}</Badge>}
                              {state && !canEdit && !state.published && <Badge>{t("off")}</Badge>}
                              {state && canEdit && (
                                <label className="check">
                                  <input
                                    type="checkbox"
                                    checked={state.published}
                                    aria-label={t("{language} is on", { language })}
                                    onChange={(event) =>
                                      turn(language, event.currentTarget.checked).catch(sayProblem)} />
                                  <span>{t("on")}</span>
                                </label>
                              )}
                            </span>
                          </th>
                        );
                      })}
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((row) => (
                      <tr key={row.key}>
                        <th scope="row">
                          <code>{row.key}</code>
                          {row.entry.comment && <span className="hint">{row.entry.comment}</span>}
                        </th>
                        {languages.map((language) => (
                          <td key={language}>
                            <Cell row={row} language={language} canEdit={canEdit} write={write} />
                          </td>
                        ))}
                      </tr>
                    ))}
                  </tbody>
                </table>
                {list.hasMore && (
                  <div className="table-more">
                    <Button isSmall onPress={list.more}>{t("Show more")}</Button>
                  </div>
                )}
              </div>
            )}
      </Show>
      {isAdding && (
        <Add
          kind={isAdding}
          name={name}
          source={coverage.data?.sourceLanguage ?? "en"}
          published={published}
          close={() => setAdding(null)}
          done={() => {
            setAdding(null);
            list.reload();
            refresh();
          }} />
      )}
    </div>
  );
}

/** The merge patch that makes one text of the other. */
function patchOf(former: Unit, unit: Unit): object {
  if (unit.stringUnit) return { ...unit, ...(former.variations ? { variations: null } : {}) };
  const gone = Object.keys(former.variations?.plural ?? {}).map((form) => [form, null]);
  return {
    ...(former.stringUnit ? { stringUnit: null } : {}),
    variations: { plural: { ...Object.fromEntries(gone), ...unit.variations?.plural } }
  };
}

const unitOf = (value: string): Unit => ({ stringUnit: { state: "translated", value } });

function patchKey(place: Place, name: string, key: string, entry: unknown): Promise<unknown> {
  return request(`PATCH ${base}/keys`, {
    ...given(place, { name }),
    query: { key },
    body: entry,
    headers: { "if-match": "*" }
  });
}

/** Which languages of the draft are on. Those that it does not have are added. */
export function patchLanguages(place: Place, name: string, published: Record<string, boolean>): Promise<unknown> {
  const languages = Object.fromEntries(Object.entries(published).map(([one, isOn]) => [one, { published: isOn }]));
  return request("PATCH " + documentPath, {
    ...given(place, { kind: "translation", name }),
    body: { languages },
    headers: { "if-match": "*" }
  });
}

/** Shown before the rest is asked for. */
const firstFindings = 5;

/** What the server finds in the texts. Each leads to its key. */
function Checks({ findings }: { findings: Finding[] }) {
  const [showsAll, setShowsAll] = useState(false);
  // Missing texts are shown in the grid, and counted above it.
  const shown = findings.filter((one) => one.code !== "missing-keys");
  if (shown.length === 0) return null;
  const keyOf = (finding: Finding) =>
    finding.path.split("/")[1] === "strings" ?
      (finding.path.split("/")[2] ?? "").replace(/~1/g, "/").replace(/~0/g, "~") :
      "";
  return (
    <div className="findings" role="group" aria-label={t("Findings")}>
      {(showsAll ? shown : shown.slice(0, firstFindings)).map((one, index) => (
        <button
          key={index}
          type="button"
          onClick={() => setQuery({ search: keyOf(one), missing: "" })}>
          <Severity finding={one} />
          <code>{keyOf(one) || one.path}</code>
          <span>{one.message}</span>
        </button>
      ))}
      {!showsAll && shown.length > firstFindings && (
        <div>
          <Button isSmall kind="quiet" onPress={() => setShowsAll(true)}>
            {t("Show all {n} findings", { n: shown.length })}
          </Button>
        </div>
      )}
    </div>
  );
}

function Cell(
  { row, language, canEdit, write }: {
    row: Row;
    language: string;
    canEdit: boolean;
    write: (row: Row, language: string, unit: Unit) => Promise<void>;
  }
) {
  const unit = row.entry.localizations?.[language];
  const stored = unit?.stringUnit?.value;
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState(stored ?? "");
  const area = useRef<HTMLTextAreaElement | null>(null);
  useEffect(() => {
    if (isOpen) area.current?.select();
  }, [isOpen]);
  const isMissing = stored === undefined && !unit?.variations;
  const [hasForms, setForms] = useState(false);
  const keep = () => {
    setOpen(false);
    if (text !== (stored ?? "")) {
      write(row, language, unitOf(text)).catch((error) => {
        sayProblem(error);
        setText(stored ?? "");
      });
    }
  };
  const plural = unit?.variations?.plural;
  const dialog = hasForms && (
    <PluralDialog
      label={row.key}
      language={language}
      single={stored ?? text}
      stored={Object.fromEntries(
        Object.entries(plural ?? {}).map(([form, one]) => [form, one.stringUnit?.value ?? ""])
      )}
      close={() => setForms(false)}
      save={(texts) =>
        write(row, language, {
          variations: {
            plural: Object.fromEntries(
              Object.entries(texts).filter(([, one]) => one).map(([form, one]) => [form, unitOf(one ?? "")])
            )
          }
        })} />
  );
  if (unit?.variations && (!plural || Object.values(plural).some((one) => !one.stringUnit))) {
    return <span className="cell soft">{t("Forms by device or width are edited as JSON.")}</span>;
  }
  if (plural) {
    const lines = Object.entries(plural).map(([form, one]) => `${form}: ${one.stringUnit?.value ?? ""}`).join("\n");
    if (!canEdit) return <span className="cell soft">{lines}</span>;
    return (
      <>
        <button
          type="button"
          className="cell soft"
          aria-label={t("Plural forms of {name}", { name: `${row.key}, ${language}` })}
          onClick={() => setForms(true)}>
          {lines}
        </button>
        {dialog}
      </>
    );
  }
  if (hasForms) return <>{dialog}</>;
  if (isOpen) {
    return (
      <>
        <textarea
          ref={area}
          value={text}
          rows={Math.max(2, text.split("\n").length)}
          aria-label={`${row.key}, ${language}`}
          onChange={(event) => setText(event.currentTarget.value)}
          onBlur={keep}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              setText(stored ?? "");
              setOpen(false);
            }
            if (event.key === "Enter" && !event.shiftKey) {
              event.preventDefault();
              keep();
            }
          }} />
        <button
          type="button"
          className="link"
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => {
            setOpen(false);
            setForms(true);
          }}>
          {t("Plural forms…")}
        </button>
      </>
    );
  }
  const classes = "cell" + (isMissing || row.states[language] === "new" ? " missing" : "");
  if (!canEdit) return <span className={classes}>{stored ?? t("missing")}</span>;
  return (
    <button
      type="button"
      className={classes}
      aria-label={`${row.key}, ${language}: ${stored ?? t("missing")}`}
      onClick={() => {
        setText(stored ?? "");
        setOpen(true);
      }}>
      {stored ?? t("missing")}
      {row.states[language] === "needs_review" && (
        <>
          {" "}
          <Badge tone="warning">{t("review")}</Badge>
        </>
      )}
    </button>
  );
}
