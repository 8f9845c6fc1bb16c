// Sprints and what is left to do in them.

import { useState } from "react";
import type { Sprint } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Empty, Section, Show, Tone } from "../system/basics";
import { LineChart } from "../system/charts";
import { Dialog } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { Loaded, useLoad } from "../system/load";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { day, shortDay, t, Text } from "../text";

export function Sprints({ sprints }: { sprints: Loaded<Sprint[]> }) {
  const place = usePlace();
  const [isNew, setNew] = useState(false);
  const [shown, show] = useState<number | null>(null);
  const canUpdate = place.may("tickets", "update");
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
          onPress={() => setNew(true)}>
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
              { name: "name", title: t("Sprint"), cell: (one) => <span className="strong">{one.name}</span> },
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
              }
            ]} />
        )}
      </Show>
      {shown !== null && <Burndown sprint={shown} />}
      {isNew && (
        <NewSprint
          close={() => setNew(false)}
          made={() => {
            setNew(false);
            sprints.reload();
          }} />
      )}
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

function NewSprint({ close, made }: { close: () => void; made: () => void }) {
  const place = usePlace();
  const [name, setName] = useState("");
  const [starts, setStarts] = useState("");
  const [ends, setEnds] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    await callIn(place, "POST /admin/apps/{app}/tickets/sprints", {
      body: { name, starts: starts || null, ends: ends || null }
    });
    made();
  };
  return (
    <Dialog title={t("New sprint")} close={close}>
      <Form send={send} action={t("Create")} cancel={close} fields={["name", "starts", "ends"]} report={report}>
        <TextField
          label={t("Name")}
          value={name}
          change={setName}
          isRequired
          autoFocus
          error={errorOf("name", problem)} />
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
