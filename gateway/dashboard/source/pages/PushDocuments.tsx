// Rules, segments and templates of push messages: named JSON documents, listed, edited and deleted alike.

import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Empty, Menu, Section, Show, Tone } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { useLoad } from "../system/load";
import { useOpened } from "../system/opened";
import { Table } from "../system/table";
import { ago, t, Text } from "../text";
import { PushDocumentDialog } from "./PushDocumentDialog";

export type Kind = "templates" | "segments" | "rules";

export interface Document {
  name: string;
  updated?: string;
  description?: string;
  variables?: string[];
  state?: "active" | "disabled" | "stuck";
  reason?: string;
  [member: string]: unknown;
}

interface Words {
  title: Text;
  add: Text;
  empty: Text;
  about: Text;
  /** What deleting one does. */
  loss: Text;
}

export const words: Record<Kind, Words> = {
  templates: {
    title: "Templates",
    add: "New template",
    empty: "No templates yet",
    about: "A text with placeholders for values, which messages and rules use.",
    loss: "Messages and rules that name it are refused from then on."
  },
  segments: {
    title: "Segments",
    add: "New segment",
    empty: "No segments yet",
    about: "An audience with a name, for messages and rules.",
    loss: "Messages and rules that name it reach nobody through it from then on."
  },
  rules: {
    title: "Rules",
    add: "New rule",
    empty: "No rules yet",
    about: "A rule sends a message when an object is written, on a schedule, or when a crash alert fires.",
    loss: "It sends nothing from then on."
  }
};

const states: Record<string, { title: Text; tone: Tone }> = {
  active: { title: "Active", tone: "good" },
  disabled: { title: "off", tone: "neutral" },
  stuck: { title: "Stuck", tone: "bad" }
};

export function PushDocuments({ kind }: { kind: Kind }) {
  const place = usePlace();
  const address = `/admin/apps/{app}/notifications/${kind}`;
  const list = useLoad(
    async () => (await request("GET " + address, given(place))).body as { data: Document[] },
    [place.app.id, place.environment, kind]
  );
  const [edited, edit] = useOpened(list.data?.data, (one) => one.name);
  const [dialog, ask] = useConfirm();
  const remove = (one: Document) =>
    ask({
      title: t("Delete {name}?", { name: one.name }),
      action: t("Delete"),
      text: t(words[kind].loss),
      act: async () => {
        await request(`DELETE ${address}/{name}`, given(place, { name: one.name }));
        list.reload();
      }
    });
  return (
    <Section
      note={t(words[kind].about)}
      actions={place.may("notifications", "update") && (
        <Button icon="plus" onPress={() => edit("new")}>{t(words[kind].add)}</Button>
      )}>
      <Show from={list}>
        {({ data }) => (
          <Table
            label={t(words[kind].title)}
            rows={data}
            id={(one) => one.name}
            open={edit}
            empty={<Empty icon="push" title={t(words[kind].empty)} />}
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (one) => <button type="button" className="link" onClick={() => edit(one)}>{one.name}</button>
              },
              {
                name: "about",
                title: kind === "rules" ? t("When") : kind === "segments" ? t("Audience") : t("Text"),
                isExtra: true,
                cell: (one) => <span className="soft" title={about(kind, one)}>{about(kind, one)}</span>
              },
              ...(kind === "rules" ?
                [{
                  name: "state",
                  title: t("State"),
                  width: "110px",
                  cell: (one: Document) => {
                    const state = states[one.state ?? ""];
                    return state && (
                      <span title={one.reason}>
                        <Badge tone={state.tone}>{t(state.title)}</Badge>
                      </span>
                    );
                  }
                }] :
                []),
              {
                name: "updated",
                title: t("Changed"),
                width: "140px",
                isExtra: true,
                cell: (one) => <span className="soft">{one.updated && ago(one.updated)}</span>
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
                      isHidden: !place.may("notifications", "delete"),
                      act: () => remove(one)
                    }]} />
                )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <PushDocumentDialog
          kind={kind}
          name={edited === "new" ? "" : edited.name}
          close={() => edit(null)}
          changed={list.reload} />
      )}
      {dialog}
    </Section>
  );
}

/** A short summary for the list. */
function about(kind: Kind, one: Document): string {
  if (kind === "segments") return JSON.stringify(one["audience"] ?? {});
  if (kind === "rules") return one.description || JSON.stringify(one["when"] ?? {});
  const content = (one["content"] ?? {}) as { title?: string; body?: string };
  return [content.title, content.body].filter(Boolean).join(" · ");
}
