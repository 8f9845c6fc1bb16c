// What the database does: statements that run, those that took the most time, and the largest tables, as
// GET /admin/database and GET /admin/database/statements tell them.

import type { DatabaseState, StatementHistory } from "../../generated/api";
import { call } from "../api/client";
import { Section, Show } from "../system/basics";
import { useInterval, useLoad } from "../system/load";
import { Table } from "../system/table";
import { ago, bytes, number, percent, t, time } from "../text";

/** In seconds. Statements are kept for 31 days, and the server refuses an earlier start. */
const longest = 30 * 86_400;

export function Database({ seconds }: { seconds: number }) {
  const state = useLoad(() => call("GET /admin/database", {}), []);
  const statements = useLoad(() => {
    const from = new Date(Date.now() - Math.min(seconds, longest) * 1000).toISOString();
    return call("GET /admin/database/statements", { query: { from, limit: 10 } });
  }, [seconds]);
  useInterval(state.reload, 15);
  useInterval(statements.reload, 60);
  return (
    <>
      <Show from={state}>{(found) => found.running.length > 0 && <Running rows={found.running} />}</Show>
      <Show from={statements}>
        {(found) => found.statements.length > 0 && <Statements rows={found.statements} />}
      </Show>
      <Show from={state}>{(found) => <Tables rows={found.tables} />}</Show>
    </>
  );
}

const rounded = (value: number) => number(Math.round(value * 10) / 10);

function Running({ rows }: { rows: DatabaseState["running"] }) {
  return (
    <Section title={t("Has been running for more than a second")}>
      <Table
        label={t("Has been running for more than a second")}
        rows={rows}
        id={(one) => one.pid}
        columns={[
          { name: "pid", title: "pid", width: "90px", isNumber: true, cell: (one) => one.pid },
          {
            name: "statement",
            title: t("SQL statement"),
            cell: (one) => <code title={one.statement}>{one.statement ?? one.role}</code>
          },
          { name: "seconds", title: t("Seconds"), isNumber: true, width: "100px", cell: (one) => rounded(one.seconds) },
          {
            name: "waits",
            title: t("Waits for"),
            width: "220px",
            isExtra: true,
            cell: (one) => one.blockers.length > 0 ? `pid ${one.blockers.join(", ")}` : one.waitsFor ?? one.state
          }
        ]} />
    </Section>
  );
}

function Statements({ rows }: { rows: StatementHistory["statements"] }) {
  return (
    <Section title={t("SQL statements that took the most time")}>
      <Table
        label={t("SQL statements that took the most time")}
        rows={rows}
        id={(one) => one.id}
        columns={[
          { name: "text", title: t("SQL statement"), cell: (one) => <code title={one.text}>{one.text}</code> },
          {
            name: "calls",
            title: t("Calls"),
            isNumber: true,
            width: "110px",
            isExtra: true,
            cell: (one) => number(one.calls)
          },
          {
            name: "each",
            title: t("On average"),
            isNumber: true,
            width: "130px",
            cell: (one) => `${rounded(one.milliseconds / Math.max(1, one.calls))} ms`
          },
          {
            name: "total",
            title: t("In total"),
            isNumber: true,
            width: "120px",
            cell: (one) => `${rounded(one.milliseconds / 1000)} s`
          }
        ]} />
    </Section>
  );
}

function Tables({ rows }: { rows: DatabaseState["tables"] }) {
  return (
    <Section title={t("Largest tables")}>
      <Table
        label={t("Largest tables")}
        rows={rows.slice(0, 10)}
        id={(one) => one.name}
        columns={[
          { name: "name", title: t("Name"), cell: (one) => <code>{one.name}</code> },
          { name: "size", title: t("Size"), isNumber: true, width: "120px", cell: (one) => bytes(one.sizeInBytes) },
          {
            name: "rows",
            title: t("Rows (estimate)"),
            isNumber: true,
            width: "150px",
            isExtra: true,
            cell: (one) => number(one.liveRows)
          },
          {
            name: "dead",
            title: t("Dead rows"),
            isNumber: true,
            width: "120px",
            cell: (one) => percent(one.deadRows / Math.max(1, one.liveRows + one.deadRows))
          },
          {
            name: "vacuum",
            title: t("Last vacuum"),
            width: "190px",
            isExtra: true,
            cell: (one) => one.lastVacuum && <span title={time(one.lastVacuum)}>{ago(one.lastVacuum)}</span>
          }
        ]} />
    </Section>
  );
}
