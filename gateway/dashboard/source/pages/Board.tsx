// The board. Tickets move by drag and drop, and by keys.

import { useEffect, useRef, useState } from "react";
import type { Ticket } from "../../generated/api";
import { Answer, send } from "../api/client";
import { callIn, given, Place, usePlace } from "../shell/place";
import { Badge, Button, Link, sayProblem, Show } from "../system/basics";
import { Loaded, useLoad } from "../system/load";
import { go } from "../system/router";
import { say } from "../system/toast";
import { number, t } from "../text";
import { initials } from "./Crashes";
import { coloursOf, LabelChip, useLabels } from "./labels";
import { Filter, priorities, statuses, types, typeTones } from "./TicketWords";

type Board = Answer<"GET /admin/apps/{app}/tickets/board">;

interface Drop {
  status: string;
  before?: number;
  after?: number;
  end?: "top" | "bottom";
}

/** Tickets that a column shows at first, and is longer by. */
const step = 50;
const most = 200;

export function BoardView({ filter }: { filter: Filter }) {
  const place = usePlace();
  // Tickets of each column. Every change by somebody reads all of them again.
  const shown = useRef(step);
  const board = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/tickets/board", { query: { ...filter, limit: shown.current } }),
    [place.app.id, place.environment, JSON.stringify(filter)]
  );
  const more = () => {
    shown.current = Math.min(most, shown.current + step);
    board.reload();
  };
  useLive(place, board);
  const colours = coloursOf(useLabels().data);
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
      .then(() => {
        board.reload();
        const former = placeOf(old, id);
        if (!former || former.status === drop.status) return;
        say(t("Moved to {name}", { name: t(statuses[drop.status] ?? "To do") }), { undo: () => move(id, former) });
      }, (error) => {
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
    const column = board.data?.columns?.find((one) => one.status === status);
    const last = column?.next ? column.tickets?.filter((one) => one.number !== id).pop()?.number : undefined;
    // Where the column goes on, its real end is out of sight, and so is the place after the last one shown.
    const end = last !== undefined ? { status, before: last } : { status, end: "bottom" as const };
    move(id, over?.before !== undefined ? { status, before: over.before } : end);
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
                {column.next && shown.current < most && (
                  <div className="table-more">
                    <Button isSmall onPress={more}>{t("Show more")}</Button>
                  </div>
                )}
                {column.next && shown.current >= most && (
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
          <LabelChip key={label} name={label} colour={colours.get(label)} />
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

/** Where a ticket stands, as a drop that brings it back. */
function placeOf(board: Board, id: number): Drop | undefined {
  for (const { status, tickets = [] } of board.columns ?? []) {
    const row = tickets.findIndex((one) => one.number === id);
    if (row < 0 || !status) continue;
    const above = tickets[row - 1]?.number;
    return above === undefined ? { status, end: "top" } : { status, after: above };
  }
  return undefined;
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

const quietInMilliseconds = 150;

/** Follows changes by others: the stream says that there are some, and the board is read again. */
function useLive(place: Place, board: Loaded<Board>): void {
  const generation = board.data?.generation;
  const hasBoard = generation !== undefined;
  useEffect(() => {
    if (!hasBoard) return;
    const stop = new AbortController();
    let after = generation ?? 0;
    // Many tickets that change at once are one change of the board.
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const reload = () => {
      waiting ??= setTimeout(() => {
        waiting = undefined;
        board.reload();
      }, quietInMilliseconds);
    };
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
              if (/^event: ?changed/m.test(event)) reload();
            }
          }
        } catch {
          if (stop.signal.aborted) return;
        }
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }
    };
    void follow();
    return () => {
      stop.abort();
      clearTimeout(waiting);
    };
  }, [hasBoard, place.app.id, place.environment]);
}
