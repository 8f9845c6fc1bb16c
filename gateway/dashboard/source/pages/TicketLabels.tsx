// The labels of an app's tickets, and the colours to choose from.

import { useState } from "react";
import { callIn, usePlace } from "../shell/place";
import { Button, Empty, Menu, Section, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { Icon } from "../system/icons";
import { useOpened } from "../system/opened";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { number, plural, t, Text } from "../text";
import { Label, LabelChip, textOn, useLabels } from "./labels";

/**
 * The colours that this page offers. White text on each has a contrast of at least 4.5 to 1, and each has at least
 * 3 to 1 against the background in both the light and the dark appearance (WCAG AA).
 */
const palette: [colour: string, title: Text][] = [
  ["#c9403a", "Red"],
  ["#b4590a", "Orange"],
  ["#8a6d00", "Ochre"],
  ["#4a7d1e", "Green"],
  ["#0d7f86", "Teal"],
  ["#2b74c9", "Blue"],
  ["#6b5fd6", "Violet"],
  ["#9a4fc0", "Purple"],
  ["#b8408f", "Pink"],
  ["#6b7378", "Grey"]
];

/** The palette's least used colour. */
export function nextColour(labels: Label[]): string {
  const uses = (colour: string) => labels.filter((label) => label.color === colour).length;
  return palette.map(([colour]) => colour).reduce((best, one) => (uses(one) < uses(best) ? one : best));
}

export function Labels() {
  const place = usePlace();
  const labels = useLabels();
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("tickets", "update");
  const [edited, edit] = useOpened(canUpdate ? labels.data : undefined, (label) => label.name);
  const remove = (label: Label) =>
    ask({
      title: t("Delete {name}?", { name: label.name }),
      action: t("Delete"),
      text: plural(label.tickets, "It is removed from {n} ticket.", "It is removed from {n} tickets."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/tickets/labels/{label}", { path: { label: label.name } });
        labels.reload();
      }
    });
  return (
    <Section
      actions={place.may("tickets", "create") && (
        <Button icon="plus" onPress={() => edit("new")}>{t("New label")}</Button>
      )}>
      <Show from={labels}>
        {(rows) => (
          <Table
            label={t("Labels")}
            rows={rows}
            id={(label) => label.name}
            open={canUpdate ? edit : undefined}
            empty={
              <Empty icon="tickets" title={t("No labels yet")}>
                {t("A label is a word that tickets have in common, such as a part of the app.")}
              </Empty>
            }
            columns={[
              {
                name: "label",
                title: t("Label"),
                cell: (label) => <LabelChip name={label.name} colour={label.color} />
              },
              {
                name: "tickets",
                title: t("Tickets"),
                width: "120px",
                isNumber: true,
                cell: (label) => number(label.tickets)
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (label) => (
                  <Menu
                    label={t("More about {name}", { name: label.name })}
                    items={[
                      { title: t("Edit"), act: () => edit(label), isHidden: !canUpdate },
                      {
                        title: t("Delete"),
                        act: () => remove(label),
                        isDanger: true,
                        isHidden: !place.may("tickets", "delete")
                      }
                    ]} />
                )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <LabelDialog
          label={edited === "new" ? undefined : edited}
          colour={edited === "new" ? nextColour(labels.data ?? []) : edited.color}
          close={() => edit(null)}
          stored={() => {
            edit(null);
            labels.reload();
          }} />
      )}
      {dialog}
    </Section>
  );
}

function LabelDialog(
  { label, colour: first, close, stored }: {
    /** Undefined for a new label. */
    label: Label | undefined;
    colour: string;
    close: () => void;
    stored: () => void;
  }
) {
  const place = usePlace();
  const [name, setName] = useState(label?.name ?? "");
  const [colour, setColour] = useState(first);
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    const body = { name, color: colour };
    if (label) {
      const path = { label: label.name };
      await callIn(place, "PATCH /admin/apps/{app}/tickets/labels/{label}", { path, body });
    } else await callIn(place, "POST /admin/apps/{app}/tickets/labels", { body });
    say(t("Saved"));
    stored();
  };
  return (
    <Dialog title={label ? label.name : t("New label")} close={close}>
      <Form
        send={send}
        action={label ? t("Save") : t("Create")}
        cancel={close}
        fields={["name", "color"]}
        report={report}>
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          isRequired
          autoFocus
          maximumLength={40}
          error={errorOf("name", problem)} />
        <ColourField value={colour} change={setColour} />
        <p>
          <LabelChip name={name || t("Label")} colour={colour} />
        </p>
      </Form>
    </Dialog>
  );
}

function ColourField({ value, change }: { value: string; change: (colour: string) => void }) {
  // A colour outside the palette, set through the API, is also offered.
  const isOther = !palette.some(([colour]) => colour === value);
  const choices = palette.map(([colour, title]) => ({ colour, title: t(title) }));
  if (isOther) choices.push({ colour: value, title: value });
  return (
    <div className="field" role="group" aria-label={t("Colour")}>
      <span className="strong">{t("Colour")}</span>
      <div className="row">
        {choices.map(({ colour, title }) => (
          <button
            key={colour}
            type="button"
            className="label-colour"
            style={{ background: colour, color: textOn(colour) }}
            aria-label={title}
            aria-pressed={colour === value}
            title={title}
            onClick={() => change(colour)}>
            {colour === value && <Icon name="check" />}
          </button>
        ))}
      </div>
    </div>
  );
}
