// The board, the list and the sprints.

import { useState } from "react";
import type { Sprint, Ticket } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Button, PageHead, Tabs } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Choice, errorOf, Form, Select, TextField } from "../system/form";
import { lazy } from "../system/lazy";
import { useLoad } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { say } from "../system/toast";
import { t, Text } from "../text";
import { TextFilter } from "./Audit";
import { Filter, options, priorities, types } from "./TicketWords";
import { BoardView } from "./Board";
import { ListView } from "./TicketList";

const Sprints = lazy(async () => (await import("./Sprints")).Sprints);
const Labels = lazy(async () => (await import("./TicketLabels")).Labels);

const views = ["board", "list", "sprints", "labels"] as const;
type View = (typeof views)[number];

export function TicketsPage() {
  const place = usePlace();
  const { query } = useAddress();
  const view = views.find((one) => one === query.get("view")) ?? "board";
  const filter: Filter = {
    search: query.get("search") || undefined,
    type: query.get("type") || undefined,
    sprint: query.get("sprint") || undefined,
    assignee: query.get("assignee") || undefined,
    version: place.version || undefined
  };
  const sprints = useLoad(
    async () => (await callIn(place, "GET /admin/apps/{app}/tickets/sprints", { query: { limit: 50 } })).data ?? [],
    [place.app.id, place.environment]
  );
  const [turn, setTurn] = useState(0);
  const isNew = query.get("new") === "1";
  const setNew = (isOpen: boolean) => setQuery({ new: isOpen ? "1" : "" });
  return (
    <div className={"page" + (view === "board" ? " full" : "")} style={{ gap: 16 }}>
      <PageHead title={t("Tickets")}>
        {place.may("tickets", "create") && (
          <Button kind="primary" icon="plus" onPress={() => setNew(true)}>{t("New ticket")}</Button>
        )}
      </PageHead>
      <Tabs<View>
        label={t("View")}
        current={view}
        choose={(next) => setQuery({ view: next === "board" ? "" : next })}
        tabs={[
          { name: "board", title: t("Board") },
          { name: "list", title: t("List") },
          { name: "sprints", title: t("Sprints") },
          { name: "labels", title: t("Labels") }
        ]} />
      {(view === "board" || view === "list") && <Filters filter={filter} sprints={sprints.data ?? []} />}
      {view === "board" ?
        <BoardView key={turn} filter={filter} /> :
        view === "list" ?
        <ListView key={turn} filter={filter} sprints={sprints.data ?? []} /> :
        view === "sprints" ?
        <Sprints sprints={sprints} /> :
        <Labels />}
      {isNew && (
        <NewTicket
          sprints={sprints.data ?? []}
          close={() => setNew(false)}
          made={() => {
            setNew(false);
            setTurn(turn + 1);
          }} />
      )}
    </div>
  );
}

function Filters({ filter, sprints }: { filter: Filter; sprints: Sprint[] }) {
  return (
    <div className="toolbar">
      <span className="grow">
        <TextFilter name="search" value={filter.search ?? ""} label={t("Find tickets")} />
      </span>
      <Select
        label={t("Type")}
        value={filter.type ?? ""}
        change={(type) => setQuery({ type })}
        options={[{ value: "", title: t("All types") }, ...options(types)]} />
      <Select
        label={t("Assignee")}
        value={filter.assignee ?? ""}
        change={(assignee) => setQuery({ assignee })}
        options={[{ value: "", title: t("Everybody") }, { value: "me", title: t("Mine") }, {
          value: "none",
          title: t("Unassigned")
        }]} />
      {sprints.length > 0 && (
        <Select
          label={t("Sprint")}
          value={filter.sprint ?? ""}
          change={(sprint) => setQuery({ sprint })}
          options={[
            { value: "", title: t("All sprints") },
            { value: "none", title: t("Backlog") },
            ...sprints.map((one) => ({ value: String(one.number), title: one.name ?? "" }))
          ]} />
      )}
    </div>
  );
}

function NewTicket({ sprints, close, made }: { sprints: Sprint[]; close: () => void; made: () => void }) {
  const place = usePlace();
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  const [type, setType] = useState<NonNullable<Ticket["type"]>>("task");
  const [priority, setPriority] = useState<NonNullable<Ticket["priority"]>>("medium");
  const [sprint, setSprint] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    const ticket = await callIn(place, "POST /admin/apps/{app}/tickets", {
      body: { title, description, type, priority, ...(sprint ? { sprint: Number(sprint) } : {}) }
    });
    say(t("{key} was made", { key: ticket.key ?? "" }));
    made();
  };
  return (
    <Dialog title={t("New ticket")} close={close} isWide>
      <Form send={send} action={t("Create")} cancel={close} fields={["title", "description"]} report={report}>
        <TextField
          label={t("Title")}
          value={title}
          change={setTitle}
          isRequired
          autoFocus
          maximumLength={300}
          error={errorOf("title", problem)} />
        <TextField
          label={t("Description")}
          value={description}
          change={setDescription}
          lines={5}
          isOptional
          error={errorOf("description", problem)} />
        <div className="pair">
          <Choice
            label={t("Type")}
            value={type}
            change={setType}
            options={options(types as Record<typeof type, Text>)} />
          <Choice
            label={t("Priority")}
            value={priority}
            change={setPriority}
            options={options(priorities as Record<typeof priority, Text>)} />
          <Choice
            label={t("Sprint")}
            value={sprint}
            change={setSprint}
            options={[
              { value: "", title: t("Backlog") },
              ...sprints.filter((one) => one.state !== "closed").map((one) => ({
                value: String(one.number),
                title: one.name ?? ""
              }))
            ]} />
        </div>
      </Form>
    </Dialog>
  );
}
