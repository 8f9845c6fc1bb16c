// Changes several tickets of the list at once: their fields by one call for up to 100, labels and the bin one by one.

import { useRef, useState } from "react";
import type { Sprint, Ticket } from "../../generated/api";
import { request } from "../api/client";
import { callIn, given, Place, usePlace } from "../shell/place";
import { Button, sayProblem } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Choice, Form } from "../system/form";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { plural, t } from "../text";
import type { Label } from "./labels";
import { options, statuses } from "./TicketWords";

const mostInACall = 100;

/** A part of a bulk change. `act` carries it out and returns the steps that undo it. */
interface Step {
  tickets: number[];
  act: () => Promise<Step[]>;
}

/** What to set; fields that are missing stay as they are. */
interface Change {
  status?: string;
  assignee?: string | null;
  sprint?: number | null;
  add?: string;
  remove?: string;
}

export function Bulk(
  { tickets, sprints, labels, clear, changed }: {
    tickets: Ticket[];
    sprints: Sprint[];
    labels: Label[];
    clear: () => void;
    /** Called at the end, also after a failure, with the numbers of the tickets that were changed. */
    changed: (numbers: Set<number>) => void;
  }
) {
  const place = usePlace();
  const [run, setRun] = useState<{ done: number; all: number } | null>(null);
  const isStopped = useRef(false);
  const [isChanging, setChanging] = useState(false);
  const [dialog, ask] = useConfirm();
  // The undo button of a toast may be pressed after this component has rendered again: it must call the new `changed`.
  const finish = useRef(changed);
  finish.current = changed;

  // One change at a time: undo may be pressed while the next change is still running.
  const last = useRef(Promise.resolve());
  const perform = (steps: Step[], isUndo = false) => {
    last.current = last.current.then(() => performNow(steps, isUndo));
  };
  const performNow = async (steps: Step[], isUndo: boolean) => {
    const all = steps.reduce((sum, step) => sum + step.tickets.length, 0);
    const done = new Set<number>();
    const undo: Step[] = [];
    isStopped.current = false;
    setRun({ done: 0, all });
    try {
      for (const step of steps) {
        if (isStopped.current) break;
        undo.unshift(...await step.act());
        step.tickets.forEach((number) => done.add(number));
        setRun({ done: done.size, all });
      }
    } catch (error) {
      sayProblem(error);
    }
    setRun(null);
    finish.current(done);
    if (done.size === 0) return;
    say(plural(done.size, "{n} ticket changed", "{n} tickets changed"), {
      undo: isUndo ? undefined : () => perform(undo, true)
    });
  };
  const remove = () =>
    ask({
      title: plural(tickets.length, "Move {n} ticket to the bin?", "Move {n} tickets to the bin?"),
      action: t("Move to the bin"),
      text: t("They stay there for 30 days and can be restored until then."),
      act: async () => perform(tickets.map((ticket) => bin(place, ticket.number ?? 0)))
    });
  if (!run && tickets.length === 0) return null;
  return (
    <div className="bulk toolbar" role="group" aria-label={t("Selected tickets")}>
      {run ?
        (
          <>
            <progress max={run.all} value={run.done} aria-label={t("Progress")} />
            <span className="soft">{t("{done} of {all} done", run)}</span>
            <Button isSmall onPress={() => void (isStopped.current = true)}>{t("Stop")}</Button>
          </>
        ) :
        (
          <>
            <span className="soft">{plural(tickets.length, "{n} selected", "{n} selected")}</span>
            {place.may("tickets", "update") && (
              <Button isSmall onPress={() => setChanging(true)}>{t("Change…")}</Button>
            )}
            {place.may("tickets", "delete") && <Button isSmall onPress={remove}>{t("Move to the bin")}</Button>}
            <Button isSmall kind="quiet" onPress={clear}>{t("Select none")}</Button>
          </>
        )}
      {isChanging && (
        <ChangeDialog
          tickets={tickets}
          sprints={sprints}
          labels={labels}
          close={() => setChanging(false)}
          make={(change) => {
            setChanging(false);
            perform(stepsOf(place, tickets, change));
          }} />
      )}
      {dialog}
    </div>
  );
}

const stays = "stays";

function ChangeDialog(
  { tickets, sprints, labels, close, make }: {
    tickets: Ticket[];
    sprints: Sprint[];
    labels: Label[];
    close: () => void;
    make: (change: Change) => void;
  }
) {
  const place = usePlace();
  const people = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/tickets/people", given(place))).body.data as { id: string; name: string }[],
    [place.app.id]
  );
  const [status, setStatus] = useState(stays);
  const [assignee, setAssignee] = useState(stays);
  const [sprint, setSprint] = useState(stays);
  const [add, setAdd] = useState("");
  const [remove, setRemove] = useState("");
  const send = async () =>
    make({
      ...(status === stays ? {} : { status }),
      ...(assignee === stays ? {} : { assignee: assignee || null }),
      ...(sprint === stays ? {} : { sprint: sprint ? Number(sprint) : null }),
      ...(add ? { add } : {}),
      ...(remove ? { remove } : {})
    });
  const asItIs = { value: stays, title: t("stays as it is") };
  const used = [...new Set(tickets.flatMap((ticket) => ticket.labels ?? []))].sort();
  const isEmpty = [status, assignee, sprint].every((one) => one === stays) && !add && !remove;
  return (
    <Dialog title={plural(tickets.length, "Change {n} ticket", "Change {n} tickets")} close={close}>
      <Form send={send} action={t("Change")} cancel={close} isDisabled={isEmpty}>
        <Choice
          label={t("Status")}
          value={status}
          change={setStatus}
          options={[asItIs, ...options(statuses)]} />
        <Choice
          label={t("Assignee")}
          value={assignee}
          change={setAssignee}
          options={[
            asItIs,
            { value: "", title: t("Nobody") },
            ...(people.data ?? []).map((one) => ({ value: one.id, title: one.name }))
          ]} />
        <Choice
          label={t("Sprint")}
          value={sprint}
          change={setSprint}
          options={[
            asItIs,
            { value: "", title: t("Backlog") },
            ...sprints.filter((one) => one.state !== "closed").map((one) => ({
              value: String(one.number),
              title: one.name ?? ""
            }))
          ]} />
        <div className="pair">
          <Choice
            label={t("Add a label")}
            value={add}
            change={setAdd}
            options={[
              { value: "", title: t("None") },
              ...labels.map((one) => ({ value: one.name, title: one.name }))
            ]} />
          <Choice
            label={t("Remove a label")}
            value={remove}
            change={setRemove}
            options={[{ value: "", title: t("None") }, ...used.map((one) => ({ value: one, title: one }))]} />
        </div>
      </Form>
    </Dialog>
  );
}

/** The calls of a change. Tickets that already have the wanted values are left out. */
function stepsOf(place: Place, tickets: Ticket[], { add, remove, ...fields }: Change): Step[] {
  const wanted = tickets.map((ticket) => ({ ticket, body: { ...fields, ...labelsOf(ticket, add, remove) } }))
    .map((one) => ({ ...one, former: formerOf(one.ticket, one.body) }))
    .filter((one) => JSON.stringify(one.former) !== JSON.stringify(one.body));
  // The new list of labels differs from ticket to ticket, and must not overwrite a change by somebody else. So each
  // ticket takes a call of its own, with its revision.
  if (add || remove) {
    return wanted.map(({ ticket, body, former }) =>
      patch(place, ticket.number ?? 0, ticket.revision, body, former)
    );
  }
  const steps: Step[] = [];
  for (let start = 0; start < wanted.length; start += mostInACall) {
    const part = wanted.slice(start, start + mostInACall);
    const numbers = part.map((one) => one.ticket.number ?? 0);
    steps.push({
      tickets: numbers,
      act: async () => {
        const call = { ...given(place), body: { tickets: numbers, ...fields } };
        const answer = (await request("POST /admin/apps/{app}/tickets/update", call)).body.data as Ticket[];
        const revisions = new Map(answer.map((one) => [one.number, one.revision]));
        return part.map(({ ticket, body, former }) =>
          patch(place, ticket.number ?? 0, revisions.get(ticket.number), former, body)
        );
      }
    });
  }
  return steps;
}

function labelsOf(ticket: Ticket, add: string | undefined, remove: string | undefined): { labels?: string[] } {
  if (!add && !remove) return {};
  const present = ticket.labels ?? [];
  const kept = present.filter((one) => one !== remove);
  return { labels: add !== undefined && !kept.includes(add) ? [...kept, add] : kept };
}

/** The present values of the fields that a change sets. */
function formerOf(ticket: Ticket, body: object): Record<string, unknown> {
  const present = ticket as Record<string, unknown>;
  return Object.fromEntries(Object.keys(body).map((name) => [name, present[name] ?? null]));
}

/** Sets fields of one ticket, unless somebody has changed it since the revision. */
function patch(place: Place, number: number, revision: number | undefined, body: object, former: object): Step {
  return {
    tickets: [number],
    act: async () => {
      const changed = await request("PATCH /admin/apps/{app}/tickets/{ticket}", {
        ...given(place, { ticket: number }),
        body,
        headers: { "if-match": `"${revision}"` }
      });
      return [patch(place, number, (changed.body as Ticket).revision, former, body)];
    }
  };
}

function bin(place: Place, number: number): Step {
  return {
    tickets: [number],
    act: async () => {
      await callIn(place, "DELETE /admin/apps/{app}/tickets/{ticket}", { path: { ticket: number } });
      return [restore(place, number)];
    }
  };
}

function restore(place: Place, number: number): Step {
  return {
    tickets: [number],
    act: async () => {
      await callIn(place, "POST /admin/apps/{app}/tickets/{ticket}/restore", { path: { ticket: number } });
      return [bin(place, number)];
    }
  };
}
