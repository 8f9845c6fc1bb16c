// How a ticket belongs to others, and its labels.

import { useState } from "react";
import type { Ticket } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Link, sayProblem, Section } from "../system/basics";
import { Check, Form, Select, TextField } from "../system/form";
import { say } from "../system/toast";
import { t, Text } from "../text";
import { coloursOf, LabelChip, useLabels } from "./labels";
import { nextColour } from "./TicketLabels";
import { statuses } from "./TicketWords";

type Kind = "blocks" | "blockedBy" | "duplicates" | "duplicatedBy" | "relates";
const kinds: Record<Kind, Text> = {
  blocks: "blocks",
  blockedBy: "is blocked by",
  duplicates: "duplicates",
  duplicatedBy: "is duplicated by",
  relates: "belongs to"
};

interface TicketLink {
  kind: Kind;
  ticket: number;
  key: string;
  title: string;
  status: string;
}

export function Links({ ticket, canUpdate, changed }: { ticket: Ticket; canUpdate: boolean; changed: () => void }) {
  const place = usePlace();
  const [kind, setKind] = useState<Kind>("relates");
  const [other, setOther] = useState("");
  const links = (ticket.links ?? []) as unknown as TicketLink[];
  const path = { ticket: ticket.number ?? 0 };
  const number = Number(other.replace(/^[A-Za-z]+[A-Za-z0-9]*-|^#/, ""));
  const link = (kind: Kind, ticket: number) =>
    callIn(place, "POST /admin/apps/{app}/tickets/{ticket}/links", { path, body: { kind, ticket } });
  const add = async () => {
    await link(kind, number);
    setOther("");
    changed();
  };
  const remove = async (one: TicketLink) => {
    await callIn(place, "DELETE /admin/apps/{app}/tickets/{ticket}/links/{kind}/{other}", {
      path: { ...path, kind: one.kind, other: one.ticket }
    });
    changed();
    say(t("Link removed"), { undo: () => void link(one.kind, one.ticket).then(changed, sayProblem) });
  };
  if (links.length === 0 && !canUpdate) return null;
  return (
    <Section title={t("Links")}>
      <ul className="stack" aria-label={t("Links")}>
        {links.map((link) => (
          <li key={link.kind + link.ticket} className="row">
            <span className="faint">{t(kinds[link.kind])}</span>
            <Link to={place.to("tickets/" + link.ticket)}>{link.key} {link.title}</Link>
            <Badge>{t(statuses[link.status] ?? "To do")}</Badge>
            {canUpdate && (
              <Button
                icon="close"
                kind="quiet"
                isSmall
                label={t("Remove {name}", { name: link.key })}
                onPress={() => remove(link)} />
            )}
          </li>
        ))}
      </ul>
      {canUpdate && (
        <Form send={add} action={t("Link")} isDisabled={!Number.isInteger(number) || number < 1}>
          <div className="toolbar">
            <Select
              label={t("How")}
              value={kind}
              change={setKind}
              options={(Object.keys(kinds) as Kind[]).map((one) => ({ value: one, title: t(kinds[one]) }))} />
            <TextField label={t("Number of the other ticket")} value={other} change={setOther} isCode />
          </div>
        </Form>
      )}
    </Section>
  );
}

export function Labels(
  { ticket, canUpdate, change }: { ticket: Ticket; canUpdate: boolean; change: (labels: string[]) => void }
) {
  const place = usePlace();
  const [name, setName] = useState("");
  const known = useLabels();
  const colours = coloursOf(known.data);
  const set = ticket.labels ?? [];
  const names = [...new Set([...(known.data ?? []).map((one) => one.name), ...set])];
  const add = async () => {
    const label = name.trim();
    if (!names.includes(label)) {
      const color = nextColour(known.data ?? []);
      await callIn(place, "POST /admin/apps/{app}/tickets/labels", { body: { name: label, color } });
      known.reload();
    }
    setName("");
    change([...new Set([...set, label])]);
  };
  if (!canUpdate) {
    return set.length === 0 ?
      null :
      <p className="row">{set.map((one) => <LabelChip key={one} name={one} colour={colours.get(one)} />)}</p>;
  }
  return (
    <fieldset className="stack">
      <legend>{t("Labels")}</legend>
      {names.map((one) => (
        <Check
          key={one}
          label={<LabelChip name={one} colour={colours.get(one)} />}
          value={set.includes(one)}
          change={(isSet) => change(isSet ? [...set, one] : set.filter((label) => label !== one))} />
      ))}
      {place.may("tickets", "create") && (
        <div className="row">
          <input
            value={name}
            placeholder={t("New label")}
            aria-label={t("New label")}
            maxLength={40}
            onChange={(event) => setName(event.currentTarget.value)} />
          <Button isSmall isDisabled={!name.trim()} onPress={() => add().catch(sayProblem)}>{t("Add")}</Button>
        </div>
      )}
      <Link to={place.to("tickets", { view: "labels" })}>{t("Edit labels")}</Link>
    </fieldset>
  );
}
