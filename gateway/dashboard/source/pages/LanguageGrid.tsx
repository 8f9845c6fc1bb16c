// The texts of a version: keys × languages, each edited in its cell.

import { useEffect, useRef, useState } from "react";
import { request } from "../api/client";
import { given, Place, usePlace } from "../shell/place";
import { Badge, Button, Empty, sayProblem, Show } from "../system/basics";
import { Select } from "../system/form";
import { useLoad, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { percent, t } from "../text";
import { TextFilter } from "./Audit";
import { Add } from "./LanguageAdd";

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

export function Grid({ name, draft, save }: { name: string; draft: any; save: (draft: any) => Promise<void> }) {
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
  const [isAdding, setAdding] = useState<"key" | "language" | null>(null);
  const canEdit = place.may("languages", "update");
  const languages = (coverage.data?.data ?? []).map((one) => one.language).sort((a, b) =>
    Number(b === coverage.data?.sourceLanguage) - Number(a === coverage.data?.sourceLanguage)
  );
  const write = async (row: Row, language: string, value: string) => {
    await patchKey(place, name, row.key, {
      localizations: { [language]: { stringUnit: { state: "translated", value } } }
    });
    const entry = {
      ...row.entry,
      localizations: { ...row.entry.localizations, [language]: { stringUnit: { state: "translated", value } } }
    };
    list.show(
      (list.data ?? []).map((
        one
      ) => (one.key === row.key ? { ...one, entry, states: { ...one.states, [language]: "translated" } } : one))
    );
    coverage.reload();
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
                              {state && !state.published && <Badge>{t("off")}</Badge>}
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
          draft={draft}
          save={save}
          source={coverage.data?.sourceLanguage ?? "en"}
          close={() => setAdding(null)}
          done={() => {
            setAdding(null);
            list.reload();
            coverage.reload();
          }} />
      )}
    </div>
  );
}

function patchKey(place: Place, name: string, key: string, entry: unknown): Promise<unknown> {
  return request(`PATCH ${base}/keys`, {
    ...given(place, { name }),
    query: { key },
    body: entry,
    headers: { "if-match": "*" }
  });
}

function Cell(
  { row, language, canEdit, write }: {
    row: Row;
    language: string;
    canEdit: boolean;
    write: (row: Row, language: string, value: string) => Promise<void>;
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
  const keep = () => {
    setOpen(false);
    if (text !== (stored ?? "")) {
      write(row, language, text).catch((error) => {
        sayProblem(error);
        setText(stored ?? "");
      });
    }
  };
  if (unit?.variations?.plural) {
    return (
      <span className="cell soft" title={t("Plural forms are edited as JSON.")}>
        {Object.entries(unit.variations.plural).map(([form, one]) => `${form}: ${one.stringUnit?.value ?? ""}`).join(
          "\n"
        )}
      </span>
    );
  }
  if (isOpen) {
    return (
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
