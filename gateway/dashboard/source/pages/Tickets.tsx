// The board, the list and the sprints. Tickets move by drag and drop, and by keys.

import { useEffect, useRef, useState } from "react";
import type { Sprint, Ticket } from "../../generated/api";
import { Answer, send } from "../api/client";
import { callIn, given, Place, usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, PageHead, sayProblem, Section, Show, Tabs, Tone } from "../system/basics";
import { LineChart } from "../system/charts";
import { Dialog } from "../system/dialog";
import { Choice, errorOf, Form, Select, TextField } from "../system/form";
import { Loaded, useLoad, usePages } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, day, number, shortDay, t, Text } from "../text";
import { TextFilter } from "./Audit";
import { initials } from "./Crashes";

export const statuses: Record<string, Text> = {
  todo: "To do",
  inProgress: "In progress",
  onHold: "On hold",
  complete: "Complete"
};
export const types: Record<string, Text> = {
  task: "Task",
  bug: "Bug",
  feature: "Feature",
  improvement: "Improvement",
  feedback: "Feedback"
};
export const priorities: Record<string, Text> = { urgent: "Urgent", high: "High", medium: "Medium", low: "Low" };
export const typeTones: Record<string, Tone> = {
  bug: "bad",
  feature: "accent",
  improvement: "accent",
  feedback: "warning",
  task: "neutral"
};
export const options = <Name extends string>(names: Record<Name, Text>) =>
  (Object.keys(names) as Name[]).map((value) => ({ value, title: t(names[value]) }));

type View = "board" | "list" | "sprints";
type Board = Answer<"GET /admin/apps/{app}/tickets/board">;

interface Filter {
  search?: string;
  type?: string;
  sprint?: string;
  assignee?: string;
  version?: string;
}

export function TicketsPage() {
  const place = usePlace();
  const { query } = useAddress();
  const view = (["board", "list", "sprints"] as const).find((one) => one === query.get("view")) ?? "board";
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
          { name: "sprints", title: t("Sprints") }
        ]} />
      {view !== "sprints" && <Filters filter={filter} sprints={sprints.data ?? []} />}
      {view === "board" ?
        <BoardView key={turn} filter={filter} /> :
        view === "list" ?
        <ListView key={turn} filter={filter} /> :
        <Sprints sprints={sprints} />}
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

interface Drop {
  status: string;
  before?: number;
  after?: number;
  end?: "top" | "bottom";
}

function BoardView({ filter }: { filter: Filter }) {
  const place = usePlace();
  const board = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/tickets/board", { query: { ...filter, limit: 200 } }),
    [place.app.id, place.environment, JSON.stringify(filter)]
  );
  useLive(place, board);
  const labels = useLoad(
    async () => (await callIn(place, "GET /admin/apps/{app}/tickets/labels")).data as { name: string; color: string }[],
    [place.app.id, place.environment]
  );
  const colours = new Map((labels.data ?? []).map((label) => [label.name, label.color]));
  const [dragged, setDragged] = useState<number | null>(null);
  const [over, setOver] = useState<{ status: string; before?: number } | null>(null);
  const canMove = place.may("tickets", "update");
  const focusAfter = useRef<number | null>(null);
  useEffect(() => {
    if (focusAfter.current === null) return;
    document.getElementById("ticket-" + focusAfter.current)?.focus();
    focusAfter.current = null;
  }, [board.data]);

  const move = (id: number, drop: Drop) => {
    const old = board.data;
    if (!old) return;
    board.show(moved(old, id, drop));
    const position = drop.before !== undefined ?
      { before: drop.before } :
      drop.after !== undefined ?
      { after: drop.after } :
      { end: drop.end ?? "bottom" as const };
    callIn(place, "POST /admin/apps/{app}/tickets/{ticket}/move", {
      path: { ticket: id },
      body: { status: drop.status, ...position }
    })
      .then(() => board.reload(), (error) => {
        board.show(old);
        sayProblem(error);
      });
  };
  const drop = (event: DragEvent, status: string) => {
    event.preventDefault();
    const id = dragged ?? Number(event.dataTransfer?.getData("text/plain"));
    setDragged(null);
    setOver(null);
    if (!id || over?.before === id) return;
    move(id, over?.before !== undefined ? { status, before: over.before } : { status, end: "bottom" });
  };
  const key = (event: KeyboardEvent, ticket: Ticket, column: number, row: number) => {
    const columns = board.data?.columns ?? [];
    const id = ticket.number ?? 0;
    if (event.key === "Enter") return go(place.to("tickets/" + id));
    const [across, down] = [
      { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0,
      { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0
    ];
    if (across === 0 && down === 0) return undefined;
    event.preventDefault();
    if (!event.altKey || !canMove) {
      const target = columns[column + across]?.tickets
        ?.[Math.min(row + down, (columns[column + across]?.tickets?.length ?? 1) - 1)];
      if (target) document.getElementById("ticket-" + target.number)?.focus();
      return undefined;
    }
    focusAfter.current = id;
    if (across !== 0) {
      const status = columns[column + across]?.status;
      if (status) move(id, { status, end: "top" });
      return undefined;
    }
    const neighbour = columns[column]?.tickets?.[row + down];
    if (neighbour && ticket.status) {
      move(
        id,
        down < 0 ?
          { status: ticket.status, before: neighbour.number } :
          { status: ticket.status, after: neighbour.number }
      );
    }
    return undefined;
  };
  return (
    <Show from={board}>
      {(found) => (
        <>
          <div className="board">
            {(found.columns ?? []).map((column, index) => (
              <section
                key={column.status}
                className={"lane" + (over?.status === column.status && over?.before === undefined ? " over" : "")}
                aria-label={t(statuses[column.status ?? ""] ?? "To do")}
                onDragOver={(event) => {
                  event.preventDefault();
                  if (!(event.target as HTMLElement).closest(".ticket")) setOver({ status: column.status ?? "" });
                }}
                onDrop={(event) => drop(event, column.status ?? "")}>
                <header>
                  {t(statuses[column.status ?? ""] ?? "To do")}{" "}
                  <span className="faint">{number(column.count ?? 0)}</span>
                </header>
                <ol>
                  {(column.tickets ?? []).map((ticket, row) => (
                    <li
                      key={ticket.number}
                      id={"ticket-" + ticket.number}
                      tabIndex={0}
                      draggable={canMove}
                      aria-keyshortcuts={canMove ? "Alt+ArrowLeft Alt+ArrowRight Alt+ArrowUp Alt+ArrowDown" : undefined}
                      className={"ticket" + (dragged === ticket.number ? " dragged" : "") +
                        (over?.before === ticket.number ? " before" : "")}
                      onClick={() => go(place.to("tickets/" + ticket.number))}
                      onKeyDown={(event) => key(event, ticket, index, row)}
                      onDragStart={(event) => {
                        event.dataTransfer?.setData("text/plain", String(ticket.number));
                        setDragged(ticket.number ?? null);
                      }}
                      onDragEnd={() => {
                        setDragged(null);
                        setOver(null);
                      }}
                      onDragOver={(event) => {
                        event.preventDefault();
                        setOver({ status: column.status ?? "", before: ticket.number });
                      }}>
                      <Card ticket={ticket} colours={colours} />
                    </li>
                  ))}
                </ol>
                {column.next && (
                  <Link className="table-more" to={place.to("tickets", { view: "list", status: column.status })}>
                    {t("All of them in the list")}
                  </Link>
                )}
              </section>
            ))}
          </div>
          {canMove && <p className="hidden">{t("Alt with the arrow keys moves a ticket.")}</p>}
        </>
      )}
    </Show>
  );
}

function Card({ ticket, colours }: { ticket: Ticket; colours: Map<string, string> }) {
  return (
    <>
      <span className="title">{ticket.title}</span>
      <footer>
        <span>{ticket.key}</span>
        {ticket.type && ticket.type !== "task" && (
          <Badge tone={typeTones[ticket.type] ?? "neutral"}>{t(types[ticket.type] ?? "Task")}</Badge>
        )}
        {(ticket.priority === "urgent" || ticket.priority === "high") && (
          <span className={"priority-" + ticket.priority}>{t(priorities[ticket.priority] ?? "High")}</span>
        )}
        {ticket.isBlocked && <Badge tone="warning">{t("blocked")}</Badge>}
        {typeof ticket.estimate === "number" && <span>{t("{n} pt", { n: ticket.estimate })}</span>}
        {((ticket.labels ?? []) as string[]).map((label) => (
          <span key={label} className="label-dot">
            <i style={{ background: colours.get(label) }} />
            {label}
          </span>
        ))}
        {ticket.assigneeName ?
          (
            <span className="avatar" style={{ marginLeft: "auto" }} title={ticket.assigneeName as string}>
              {initials(ticket.assigneeName as string)}
            </span>
          ) :
          null}
      </footer>
    </>
  );
}

/** The board as it will be, before the server has answered. */
function moved(board: Board, id: number, drop: Drop): Board {
  const ticket = (board.columns ?? []).flatMap((column) => column.tickets ?? []).find((one) => one.number === id);
  if (!ticket) return board;
  const columns = (board.columns ?? []).map((column) => {
    const isFrom = column.status === ticket.status;
    const isTo = column.status === drop.status;
    if (!isFrom && !isTo) return column;
    const tickets = (column.tickets ?? []).filter((one) => one.number !== id);
    if (isTo) {
      const beside = drop.before !== undefined ?
        tickets.findIndex((one) => one.number === drop.before) :
        drop.after !== undefined ?
        tickets.findIndex((one) => one.number === drop.after) + 1 :
        -1;
      const at = drop.end === "top" ? 0 : beside >= 0 ? beside : tickets.length;
      tickets.splice(at, 0, { ...ticket, status: drop.status as Ticket["status"] });
    }
    return { ...column, tickets, count: (column.count ?? 0) + (isTo ? 1 : 0) - (isFrom ? 1 : 0) };
  });
  return { ...board, columns };
}

/** Follows changes by others: the stream says that there are some, and the board is read again. */
function useLive(place: Place, board: Loaded<Board>): void {
  const generation = board.data?.generation;
  const hasBoard = generation !== undefined;
  useEffect(() => {
    if (!hasBoard) return;
    const stop = new AbortController();
    let after = generation ?? 0;
    const follow = async () => {
      while (!stop.signal.aborted) {
        try {
          const response = await send("GET /admin/apps/{app}/tickets/events", {
            ...given(place),
            query: { after },
            headers: { accept: "text/event-stream" },
            signal: stop.signal
          });
          const reader = response.body?.getReader();
          const decoder = new TextDecoder();
          let text = "";
          while (reader) {
            const { done, value } = await reader.read();
            if (done) break;
            text += decoder.decode(value, { stream: true });
            const events = text.split("\n\n");
            text = events.pop() ?? "";
            for (const event of events) {
              const id = /^id: ?(\d+)/m.exec(event)?.[1];
              if (id) after = Math.max(after, Number(id));
              if (/^event: ?changed/m.test(event)) board.reload();
            }
          }
        } catch {
          if (stop.signal.aborted) return;
        }
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }
    };
    void follow();
    return () => stop.abort();
  }, [hasBoard, place.app.id, place.environment]);
}

function ListView({ filter }: { filter: Filter }) {
  const place = usePlace();
  const { query } = useAddress();
  const [sort, status] = [query.get("sort") ?? "-updated", query.get("status") ?? ""];
  const list = usePages<Ticket>(
    (cursor) =>
      callIn(place, "GET /admin/apps/{app}/tickets", {
        query: { ...filter, status: status || undefined, sort, cursor, limit: 100 }
      }),
    [place.app.id, place.environment, JSON.stringify(filter), sort, status]
  );
  return (
    <div className="stack">
      <div className="toolbar">
        <Select
          label={t("Status")}
          value={status}
          change={(next) => setQuery({ status: next })}
          options={[{ value: "", title: t("Every status") }, ...options(statuses)]} />
        <Select
          label={t("Order")}
          value={sort}
          change={(next) => setQuery({ sort: next })}
          options={[
            { value: "-updated", title: t("Last changed") },
            { value: "-created", title: t("Newest") },
            { value: "-priority", title: t("Priority") }
          ]} />
      </div>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Tickets")}
            rows={rows}
            id={(ticket) => ticket.number ?? 0}
            to={(ticket) => place.to("tickets/" + ticket.number)}
            hasMore={list.hasMore}
            more={list.more}
            empty={
              <Empty icon="tickets" title={t("No tickets")}>
                {t("Tickets come from you, from crashes, and from what users write.")}
              </Empty>
            }
            columns={[
              {
                name: "key",
                title: t("Number"),
                width: "96px",
                cell: (ticket) => <span className="soft nowrap">{ticket.key}</span>
              },
              {
                name: "title",
                title: t("Title"),
                cell: (ticket) => <Link to={place.to("tickets/" + ticket.number)}>{ticket.title}</Link>
              },
              {
                name: "type",
                title: t("Type"),
                width: "120px",
                isExtra: true,
                cell: (ticket) => (
                  <Badge tone={typeTones[ticket.type ?? ""] ?? "neutral"}>
                    {t(types[ticket.type ?? ""] ?? "Task")}
                  </Badge>
                )
              },
              {
                name: "status",
                title: t("Status"),
                width: "120px",
                cell: (ticket) => t(statuses[ticket.status ?? ""] ?? "To do")
              },
              {
                name: "priority",
                title: t("Priority"),
                width: "100px",
                isExtra: true,
                cell: (ticket) => (
                  <span className={"priority-" + ticket.priority}>
                    {t(priorities[ticket.priority ?? ""] ?? "Medium")}
                  </span>
                )
              },
              {
                name: "assignee",
                title: t("Assignee"),
                width: "130px",
                isExtra: true,
                cell: (ticket) => <span className="soft">{ticket.assigneeName as string | null}</span>
              },
              {
                name: "updated",
                title: t("Changed"),
                width: "120px",
                isExtra: true,
                cell: (ticket) => <span className="soft">{ticket.updated && ago(ticket.updated)}</span>
              }
            ]} />
        )}
      </Show>
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

function Sprints({ sprints }: { sprints: Loaded<Sprint[]> }) {
  const place = usePlace();
  const [isNew, setNew] = useState(false);
  const [shown, show] = useState<number | null>(null);
  const canUpdate = place.may("tickets", "update");
  const act = async (sprint: Sprint, verb: "start" | "close") => {
    const path = { sprint: sprint.number ?? 0 };
    if (verb === "start") await callIn(place, "POST /admin/apps/{app}/tickets/sprints/{sprint}/start", { path });
    else await callIn(place, "POST /admin/apps/{app}/tickets/sprints/{sprint}/close", { path, body: {} });
    say(verb === "start" ? t("The sprint has begun.") : t("Closed: what was not finished is in the backlog."));
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
                {t("A sprint is what is to be done within some days.")}
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
