// Sprints and what is left to do in them.

import { useState } from "react";
import type { Sprint } from "../../generated/api";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Badge, Button, Empty, Menu, sayProblem, Section, Show, Tone } from "../system/basics";
import { LineChart } from "../system/charts";
import { Dialog, useConfirm } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { Loaded, useLoad } from "../system/load";
import { useOpened } from "../system/opened";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { day, shortDay, t, Text } from "../text";

export function Sprints({ sprints }: { sprints: Loaded<Sprint[]> }) {
  const place = usePlace();
  const [shown, show] = useState<number | null>(null);
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("tickets", "update");
  const [edited, edit] = useOpened(canUpdate ? sprints.data : undefined, (one) => one.number);
  const remove = (sprint: Sprint) =>
    ask({
      title: t("Delete {name}?", { name: sprint.name ?? "" }),
      action: t("Delete"),
      text: t("Its tickets go to the backlog."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/tickets/sprints/{sprint}", {
          path: { sprint: sprint.number ?? 0 }
        });
        if (shown === sprint.number) show(null);
        sprints.reload();
      }
    });
  const act = async (sprint: Sprint, verb: "start" | "close") => {
    const path = { sprint: sprint.number ?? 0 };
    if (verb === "start") await callIn(place, "POST /admin/apps/{app}/tickets/sprints/{sprint}/start", { path });
    else await callIn(place, "POST /admin/apps/{app}/tickets/sprints/{sprint}/close", { path, body: {} });
    say(verb === "start" ? t("The sprint has begun.") : t("Closed. Unfinished tickets are in the backlog."));
    sprints.reload();
  };
  const states: Record<string, { title: Text; tone: Tone }> = {
    planned: { title: "Planned", tone: "neutral" },
    active: { title: "Active", tone: "good" },
    closed: { title: "Closed", tone: "neutral" }
  };
  return (
    <Section
      actions={place.may("tickets", "create") && (
        <Button
          icon="plus"
          onPress={() => edit("new")}>
          {t("New sprint")}
        </Button>
      )}>
      <Show from={sprints}>
        {(rows) => (
          <Table
            label={t("Sprints")}
            rows={rows}
            id={(one) => one.number ?? 0}
            open={(one) => show(one.number ?? 0)}
            current={shown ?? undefined}
            empty={
              <Empty icon="tickets" title={t("No sprints yet")}>
                {t("A sprint is a list of tickets to finish within some days.")}
              </Empty>
            }
            columns={[
              {
                name: "name",
                title: t("Sprint"),
                cell: (one) => (
                  <span className="two-lines">
                    <span className="strong">{one.name}</span>
                    {one.goal && <span className="faint">{one.goal}</span>}
                  </span>
                )
              },
              {
                name: "state",
                title: t("State"),
                width: "110px",
                cell: (one) => (
                  <Badge tone={states[one.state ?? ""]?.tone ?? "neutral"}>
                    {t(states[one.state ?? ""]?.title ?? "Planned")}
                  </Badge>
                )
              },
              {
                name: "days",
                title: t("Days"),
                width: "230px",
                isExtra: true,
                cell: (one) => (
                  <span className="soft">
                    {[one.starts, one.ends].map((date) => (date ? day(date as string) : "")).join(" – ")}
                  </span>
                )
              },
              {
                name: "done",
                title: t("Complete"),
                width: "130px",
                isNumber: true,
                cell: (one) =>
                  `${one.counts?.["complete"] ?? 0} / ${
                    Object.values(one.counts ?? {}).reduce((sum, count) => sum + count, 0)
                  }`
              },
              {
                name: "act",
                title: "",
                width: "110px",
                cell: (one) =>
                  canUpdate && (one.state === "planned" ?
                    <Button isSmall onPress={() => act(one, "start")}>{t("Start")}</Button> :
                    one.state === "active" ?
                    (
                      <Button
                        isSmall
                        onPress={() => act(one, "close")}>
                        {t("Close")}
                      </Button>
                    ) :
                    null)
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (one) => (
                  <Menu
                    label={t("More about {name}", { name: one.name ?? "" })}
                    items={[
                      { title: t("Edit"), act: () => edit(one), isHidden: !canUpdate },
                      {
                        title: t("Delete"),
                        act: () => remove(one),
                        isDanger: true,
                        // One that was started is part of the history of its tickets.
                        isHidden: one.state !== "planned" || !place.may("tickets", "delete")
                      }
                    ]} />
                )
              }
            ]} />
        )}
      </Show>
      {shown !== null && <Burndown sprint={shown} />}
      {edited && (
        <SprintDialog
          sprint={edited === "new" ? undefined : edited}
          close={() => edit(null)}
          stored={() => {
            edit(null);
            sprints.reload();
          }}
          undone={sprints.reload} />
      )}
      {dialog}
    </Section>
  );
}

function Burndown({ sprint }: { sprint: number }) {
  const place = usePlace();
  const report = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/tickets/sprints/{sprint}/report", { path: { sprint } }),
    [sprint]
  );
  return (
    <Show from={report}>
      {(found) => {
        const days = (found.days ?? []) as {
          day?: string;
          scope?: { tickets?: number };
          complete?: { tickets?: number };
        }[];
        if (days.length === 0) return <Empty icon="tickets" title={t("The sprint has not begun")} />;
        const left = days.map((one) => (one.scope?.tickets ?? 0) - (one.complete?.tickets ?? 0));
        return (
          <Section title={t("Left to do")}>
            <LineChart
              label={t("Left to do")}
              points={days.map((one) => shortDay(one.day ?? ""))}
              series={[{ name: t("Left to do"), values: left }, {
                name: t("In the sprint"),
                values: days.map((one) => one.scope?.tickets ?? 0)
              }]} />
          </Section>
        );
      }}
    </Show>
  );
}

function SprintDialog(
  { sprint, close, stored, undone }: {
    /** Undefined for a new one. */
    sprint: Sprint | undefined;
    close: () => void;
    stored: () => void;
    undone: () => void;
  }
) {
  const place = usePlace();
  const [name, setName] = useState(sprint?.name ?? "");
  const [goal, setGoal] = useState(sprint?.goal ?? "");
  const [starts, setStarts] = useState((sprint?.starts as string | null | undefined) ?? "");
  const [ends, setEnds] = useState((sprint?.ends as string | null | undefined) ?? "");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    const body = { name, goal, starts: starts || null, ends: ends || null };
    if (!sprint) await callIn(place, "POST /admin/apps/{app}/tickets/sprints", { body });
    else {
      const change = async (fields: object, revision: number | undefined) =>
        (await request("PATCH /admin/apps/{app}/tickets/sprints/{sprint}", {
          ...given(place, { sprint: sprint.number ?? 0 }),
          body: fields,
          headers: { "if-match": `"${revision}"` }
        })).body as Sprint;
      const changed = await change(body, sprint.revision);
      const former = {
        name: sprint.name,
        goal: sprint.goal,
        starts: sprint.starts ?? null,
        ends: sprint.ends ?? null
      };
      say(t("Saved"), { undo: () => void change(former, changed.revision).then(undone, sayProblem) });
    }
    stored();
  };
  return (
    <Dialog title={sprint?.name ?? t("New sprint")} close={close}>
      <Form
        send={send}
        action={sprint ? t("Save") : t("Create")}
        cancel={close}
        fields={["name", "goal", "starts", "ends"]}
        report={report}>
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          isRequired
          autoFocus
          maximumLength={100}
          error={errorOf("name", problem)} />
        <TextField
          label={t("Goal")}
          value={goal}
          change={setGoal}
          lines={2}
          isOptional
          maximumLength={2000}
          error={errorOf("goal", problem)} />
        <div className="pair">
          <TextField
            label={t("First day")}
            type="date"
            value={starts}
            change={setStarts}
            isOptional
            error={errorOf("starts", problem)} />
          <TextField
            label={t("Last day")}
            type="date"
            value={ends}
            change={setEnds}
            isOptional
            error={errorOf("ends", problem)} />
        </div>
      </Form>
    </Dialog>
  );
}
