// Templates of mail, with a preview.

import { useState } from "react";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Empty, explain, Menu, Notice, Section, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { useOpened } from "../system/opened";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, t } from "../text";

export function Templates() {
  const place = usePlace();
  const list = useLoad(() => callIn(place, "GET /admin/apps/{app}/notifications/mail/templates"), [
    place.app.id,
    place.environment
  ]);
  const [edited, edit] = useOpened(list.data?.data, (one) => one.name + "/" + one.language);
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("notifications", "update");
  return (
    <Section
      actions={canUpdate && (
        <Button
          icon="plus"
          onPress={() => edit("new")}>
          {t("New template")}
        </Button>
      )}>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Templates")}
            rows={found.data ?? []}
            id={(one) => one.name + "/" + one.language}
            open={edit}
            empty={
              <Empty icon="mail" title={t("No templates yet")}>
                {t("A template is a text with placeholders for values, in one or more languages.")}
              </Empty>
            }
            columns={[
              {
                name: "name",
                title: t("Name"),
                width: "220px",
                cell: (one) => <span className="strong">{one.name}</span>
              },
              {
                name: "language",
                title: t("Language"),
                width: "110px",
                cell: (one) => one.language && <Badge>{one.language}</Badge>
              },
              { name: "subject", title: t("Subject"), cell: (one) => one.subject },
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
                    label={t("More")}
                    items={[{
                      title: t("Delete"),
                      isDanger: true,
                      isHidden: !place.may("notifications", "delete"),
                      act: () =>
                        ask({
                          title: t("Delete {name}?", { name: one.name ?? "" }),
                          action: t("Delete"),
                          text: t("From then on, mail that uses it is refused."),
                          act: async () => {
                            await callIn(place, "DELETE /admin/apps/{app}/notifications/mail/templates/{name}", {
                              path: { name: one.name ?? "" }
                            });
                            list.reload();
                          }
                        })
                    }]} />
                )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <Template
          name={edited === "new" ? "" : edited.name ?? ""}
          language={edited === "new" ? "" : edited.language ?? ""}
          close={() => edit(null)}
          done={() => {
            edit(null);
            list.reload();
          }} />
      )}
      {dialog}
    </Section>
  );
}

function Template(
  { name, language, close, done }: { name: string; language: string; close: () => void; done: () => void }
) {
  const place = usePlace();
  const stored = useLoad(
    async () => {
      if (!name) return null;
      const path = { name };
      const { languages = {} } = await callIn(place, "GET /admin/apps/{app}/notifications/mail/templates/{name}", {
        path
      });
      return languages[language] ?? Object.values(languages)[0] ?? null;
    },
    [name, language]
  );
  return (
    <Dialog title={name || t("New template")} close={close} isWide>
      <Show from={{ ...stored, data: stored.isLoading ? undefined : { text: stored.data ?? null } }}>
        {({ text }) => <TemplateForm name={name} language={language} text={text} close={close} done={done} />}
      </Show>
    </Dialog>
  );
}

function TemplateForm(
  { name: stored, language: storedLanguage, text: given, close, done }: {
    name: string;
    language: string;
    text: { subject: string; text: string; html?: string } | null;
    close: () => void;
    done: () => void;
  }
) {
  const place = usePlace();
  const [name, setName] = useState(stored);
  const [language, setLanguage] = useState(storedLanguage);
  const [subject, setSubject] = useState(given?.subject ?? "");
  const [text, setText] = useState(given?.text ?? "");
  const [html, setHTML] = useState(given?.html ?? "");
  const [problem, report] = useState<unknown>(undefined);
  const [preview, setPreview] = useState<{ subject?: string; text?: string; error?: string } | null>(null);
  const send = async () => {
    await callIn(place, "PUT /admin/apps/{app}/notifications/mail/templates/{name}", {
      path: { name },
      query: { language: language || undefined },
      body: { subject, text, ...(html ? { html } : {}) }
    });
    say(t("Saved"));
    done();
  };
  const look = async () => {
    const found = [...`${subject} ${text} ${html}`.matchAll(/\{\{[#/]?\s*(\w+)\s*\}\}/g)];
    const names = [...new Set(found.map((match) => match[1] ?? ""))].filter((one) => one !== "unsubscribe");
    const variables = Object.fromEntries(names.map((one) => [one, one.toUpperCase()]));
    try {
      setPreview(
        await callIn(place, "POST /admin/apps/{app}/notifications/mail/preview", {
          body: { subject, text, ...(html ? { html } : {}), variables }
        })
      );
    } catch (error) {
      setPreview({ error: explain(error).detail });
    }
  };
  return (
    <Form
      isReadOnly={!place.may("notifications", "update")}
      send={send}
      action={t("Save")}
      cancel={close}
      fields={["name", "subject", "text", "html"]}
      report={report}
      extra={<Button onPress={look}>{t("Preview")}</Button>}>
      <div className="pair">
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          isRequired
          isCode
          isDisabled={stored !== ""}
          autoFocus
          error={errorOf("name", problem)} />
        <TextField
          label={t("Language tag")}
          value={language}
          change={setLanguage}
          isOptional
          isCode
          placeholder="de"
          isDisabled={stored !== ""} />
      </div>
      <TextField
        label={t("Subject")}
        value={subject}
        change={setSubject}
        isRequired
        placeholder="{{name}}, your order {{number}}"
        error={errorOf("subject", problem)} />
      <TextField
        label={t("Text")}
        value={text}
        change={setText}
        isRequired
        lines={8}
        error={errorOf("text", problem)}
        hint={t("{{name}} stands for a value.")} />
      <TextField
        label={t("HTML version")}
        value={html}
        change={setHTML}
        isOptional
        isCode
        lines={4}
        error={errorOf("html", problem)} />
      {preview && (preview.error ? <Notice tone="bad">{preview.error}</Notice> : (
        <Notice>
          <strong>{preview.subject}</strong>
          <br />
          <span className="prose">{preview.text}</span>
        </Notice>
      ))}
    </Form>
  );
}
