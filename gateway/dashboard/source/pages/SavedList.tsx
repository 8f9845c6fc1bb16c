// The saved questions, and the dialog that saves one.

import { useState } from "react";
import type { SavedQuestion } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Empty, Link, Menu, Section, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Check, errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, t, time } from "../text";
import { addressOfQuestion, wordsOf } from "./SavedQuestions";

export function SavedList() {
  const place = usePlace();
  const list = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/analytics/questions"),
    [place.app.id, place.environment]
  );
  const [dialog, ask] = useConfirm();
  const put = (one: SavedQuestion, isOnOverview: boolean) =>
    callIn(place, "PUT /admin/apps/{app}/analytics/questions/{name}", {
      path: { name: one.name ?? "" },
      body: asSent(one, isOnOverview)
    }).then(list.reload);
  const remove = (one: SavedQuestion) =>
    ask({
      title: t("Delete {name}?", { name: one.name ?? "" }),
      action: t("Delete"),
      text: t("The question is deleted for everybody; the events stay."),
      act: () =>
        callIn(place, "DELETE /admin/apps/{app}/analytics/questions/{name}", { path: { name: one.name ?? "" } })
          .then(list.reload)
    });
  return (
    <Section note={t("Everybody who may read the analytics of this app sees them.")}>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Saved questions")}
            rows={found.data}
            id={(one) => one.name ?? ""}
            empty={
              <Empty icon="analytics" title={t("No question is saved yet")}>
                {t("Ask a question in another tab, then press Save. Its period, such as the last 30 days, is saved.")}
              </Empty>
            }
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (one) => (
                  <span className="two-lines">
                    <Link to={addressOfQuestion(place, one)} className="strong">{one.name}</Link>
                    <span className="faint">{wordsOf(one)}</span>
                  </span>
                )
              },
              {
                name: "overview",
                title: "",
                width: "150px",
                cell: (one) => one.isOnOverview && <Badge tone="accent">{t("On the overview")}</Badge>
              },
              {
                name: "changed",
                title: t("Changed"),
                width: "130px",
                isExtra: true,
                cell: (one) =>
                  one.updated && <span className="soft" title={time(one.updated)}>{ago(one.updated)}</span>
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (one) => (
                  <Menu
                    label={t("More about {name}", { name: one.name ?? "" })}
                    items={[
                      {
                        title: one.isOnOverview ? t("Take off the overview") : t("Show on the overview"),
                        isHidden: !place.may("analytics", "update"),
                        act: () => void put(one, !one.isOnOverview)
                      },
                      {
                        title: t("Delete"),
                        isDanger: true,
                        isHidden: !place.may("analytics", "delete"),
                        act: () => remove(one)
                      }
                    ]} />
                )
              }
            ]} />
        )}
      </Show>
      {dialog}
    </Section>
  );
}

/** Without what the server adds. */
function asSent({ kind, days, parameters, steps, windowSeconds }: SavedQuestion, isOnOverview: boolean): SavedQuestion {
  return steps ? { kind, days, steps, windowSeconds, isOnOverview } : { kind, days, parameters, isOnOverview };
}

export function SaveDialog({ question, close }: { question: SavedQuestion; close: () => void }) {
  const place = usePlace();
  const [name, setName] = useState("");
  const [isOnOverview, setOnOverview] = useState(true);
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    await callIn(place, "PUT /admin/apps/{app}/analytics/questions/{name}", {
      path: { name: name.trim() },
      body: { ...question, isOnOverview }
    });
    say(t("Saved"));
    close();
  };
  return (
    <Dialog title={t("Save this question")} close={close}>
      <Form send={send} action={t("Save")} cancel={close} fields={["name"]} report={report} isDisabled={!name.trim()}>
        <p className="note">{wordsOf(question)}</p>
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          autoFocus
          isRequired
          maximumLength={100}
          hint={t("A question with this name is replaced.")}
          error={errorOf("name", problem)} />
        <Check label={t("Show the answer on the overview")} value={isOnOverview} change={setOnOverview} />
      </Form>
    </Dialog>
  );
}
