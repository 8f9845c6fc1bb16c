// The page of one published document: its draft, edited as JSON or in the views of its document kind.

import { ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { request, Tagged } from "../api/client";
import { Problem } from "../api/problem";
import { Area } from "../api/session";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Menu, Notice, PageHead, sayProblem, Show, Tabs } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { hasWrongText } from "../system/form";
import { Finding, JSONEditor, parse, pretty, useUnsaved, Words } from "../system/json";
import { Loaded } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { say } from "../system/toast";
import { t } from "../text";
import { DocumentState, Draft, Kind, path, putDraft, useDraft } from "./document";
import { Changes, Publish, Versions } from "./DocumentVersions";

interface EditorProperties {
  kind: Kind;
  name: string;
  area: Area;
  back?: { to: string; title: string };
  title?: ReactNode;
  /** Tabs shown before the JSON tab; each edits the same draft in a form of its own. */
  views?: {
    name: string;
    title: string;
    show: (draft: any, change: (draft: any) => void, reload: () => void, findings: Finding[]) => ReactNode;
  }[];
  actions?: (loaded: Loaded<Tagged<Draft>>, isChanged: boolean, refused: (findings: Finding[]) => void) => ReactNode;
  start?: unknown;
  note?: string;
  /** Completions in the JSON tab. */
  words?: (draft: any) => Words;
}

/** The page of one document. */
export function DocumentPage(properties: EditorProperties) {
  const loaded = useDraft(properties.kind, properties.name);
  const isMissing = loaded.error instanceof Problem && loaded.error.status === 404 && properties.start !== undefined;
  if (isMissing) {
    const fresh: Tagged<Draft> = {
      tag: null,
      body: {
        document: { kind: properties.kind, name: properties.name },
        draft: properties.start as Record<string, any>
      }
    };
    return <Editor key="new" {...properties} loaded={{ ...loaded, data: fresh, error: undefined }} />;
  }
  if (loaded.data === undefined) {
    return (
      <div className="page">
        <Show from={loaded} lines={10}>{() => null}</Show>
      </div>
    );
  }
  return <Editor key="draft" {...properties} loaded={{ ...loaded, data: loaded.data }} />;
}

function Editor(
  { kind, name, area, back, title, views = [], actions, note, words, loaded }: EditorProperties & {
    loaded: Loaded<Tagged<Draft>> & { data: Tagged<Draft> };
  }
) {
  const place = usePlace();
  const { query } = useAddress();
  const { body, tag: latest } = loaded.data;
  const stored = useMemo(() => pretty(body.draft), [body]);
  const [text, setText] = useState(stored);
  // What the text was made from. If the draft changes elsewhere while there are edits here, saving them is refused.
  const [{ from, tag, seen }, setFrom] = useState({ from: stored, tag: latest, seen: latest });
  const take = () => {
    setText(stored);
    setFrom({ from: stored, tag: latest, seen: latest });
  };
  if (seen !== latest) {
    if (text === from) take();
    else setFrom({ from, tag, seen: latest });
  }
  const [findings, setFindings] = useState<Finding[]>([]);
  const [publishing, setPublishing] = useState(false);
  const [dialog, ask] = useConfirm();
  const page = useRef<HTMLDivElement | null>(null);
  const isChanged = text !== from;
  useUnsaved(isChanged, page);
  const parsed = useMemo(() => parse(text), [text]);
  const tab = query.get("tab") ?? views[0]?.name ?? "json";
  const isReadOnly = !place.may(area, tag === null ? "create" : "update");
  useEffect(() => {
    if (tag === null) return;
    request(`POST ${path}/check`, given(place, { kind, name })).then((answer) =>
      setFindings(answer.body.findings ?? [])
    ).catch(() => undefined);
  }, [tag]);

  const store = async (draft: unknown) => {
    let newTag: string | null;
    try {
      newTag = await putDraft(place, kind, name, draft, tag);
    } catch (error) {
      if (error instanceof Problem && error.status === 422 && Array.isArray(error.body.findings)) {
        setFindings(error.body.findings);
      }
      throw error;
    }
    setText(pretty(draft));
    setFrom({ from: pretty(draft), tag: newTag, seen });
    loaded.reload();
  };
  const save = async () => {
    if (hasWrongText(page.current, true)) return;
    await store(parsed.value);
    say(t("Draft saved"));
  };
  const key = (event: KeyboardEvent) => {
    if ((event.metaKey || event.ctrlKey) && event.key === "s") {
      event.preventDefault();
      if (isChanged && !parsed.error && !isReadOnly) save().catch(sayProblem);
    }
  };
  const act = (verb: string, done: string) => async () => {
    await request(`POST ${path}/${verb}`, { ...given(place, { kind, name }) });
    say(done);
    loaded.reload();
  };
  const change = (draft: unknown) => setText(pretty(draft));
  const errors = findings.filter((finding) => finding.severity === "error").length;
  const view = views.find((one) => one.name === tab);
  const isExperiment = kind === "experiment";

  return (
    <div className="page" ref={page} onKeyDown={key}>
      <PageHead
        title={
          <>
            {title ?? name} <DocumentState document={body.document} />
          </>
        }
        back={back}
        note={note}>
        {actions?.(loaded, isChanged, setFindings)}
        {isChanged && !isReadOnly && <Button onPress={take}>{t("Discard")}</Button>}
        {!isReadOnly && (
          <Button onPress={save} isDisabled={(!isChanged && tag !== null) || parsed.error !== undefined}>
            {t("Save draft")}
          </Button>
        )}
        {!isReadOnly && !isExperiment && (
          <Button
            kind="primary"
            isDisabled={isChanged || tag === null || errors > 0 ||
              (body.document.liveVersion != null && !body.document.isChanged)}
            onPress={() => setPublishing(true)}>
            {t("Publish")}
          </Button>
        )}
        <Menu
          label={t("More")}
          items={[
            {
              title: place.environment === "live" ? t("Copy from test") : t("Copy from live"),
              isHidden: isReadOnly || isExperiment,
              act: () =>
                ask({
                  title: t("Copy from the other environment?"),
                  action: t("Publish here"),
                  isDanger: false,
                  text: t("What is live there becomes the next version here, at once."),
                  act: async () => {
                    await request(`POST ${path}/promote`, {
                      ...given(place, { kind, name }),
                      body: { from: place.environment === "live" ? "test" : "live" }
                    });
                    loaded.reload();
                  }
                })
            },
            {
              title: t("Withdraw"),
              isHidden: isReadOnly || isExperiment || body.document.liveVersion == null,
              act: () =>
                ask({
                  title: t("Withdraw {name}?", { name }),
                  action: t("Withdraw"),
                  text: t("Clients no longer get it until it is published again."),
                  act: act("withdraw", t("Withdrawn"))
                })
            },
            {
              title: t("Delete"),
              isDanger: true,
              isHidden: tag === null || !place.may(area, "delete"),
              act: () =>
                ask({
                  title: t("Delete {name}?", { name }),
                  action: t("Delete"),
                  typed: name,
                  text: t("The draft will be deleted for good, and clients no longer get it."),
                  act: async () => {
                    await request("DELETE " + path, { ...given(place, { kind, name }), headers: { "if-match": "*" } });
                    if (back) go(back.to);
                    else loaded.reload();
                  }
                })
            }
          ]} />
      </PageHead>
      <Tabs
        label={t("Views")}
        current={tab}
        choose={(next) => hasWrongText(page.current) || setQuery({ tab: next })}
        tabs={[
          ...views.map((one) => ({ name: one.name, title: one.title })),
          {
            name: "json",
            title: errors > 0 ?
              (
                <>
                  JSON <Badge tone="bad">{errors}</Badge>
                </>
              ) :
              "JSON"
          },
          ...(tag !== null ? [{ name: "diff", title: t("Changes") }, { name: "versions", title: t("Versions") }] : [])
        ]} />
      {view ?
        (parsed.error ?
          <Notice tone="bad">{t("The JSON has an error. Fix it in the JSON tab first.")}</Notice> :
          view.show(parsed.value, change, loaded.reload, findings)) :
        tab === "diff" ?
        <Changes kind={kind} name={name} on={tag} isLive={body.document.liveVersion != null} isUnsaved={isChanged} /> :
        tab === "versions" ?
        <Versions kind={kind} name={name} rolledBack={loaded.reload} isReadOnly={isReadOnly || isExperiment} /> :
        (
          <JSONEditor
            label={t("Draft of {name}", { name })}
            text={text}
            change={(next) => {
              setText(next);
              setFindings([]);
            }}
            findings={findings}
            words={words?.(parsed.value ?? body.draft)}
            isReadOnly={isReadOnly}
            lines={30} />
        )}
      {publishing && (
        <Publish
          kind={kind}
          name={name}
          isLive={body.document.liveVersion != null}
          close={() => setPublishing(false)}
          done={() => {
            setPublishing(false);
            loaded.reload();
          }}
          refused={setFindings} />
      )}
      {dialog}
    </div>
  );
}
