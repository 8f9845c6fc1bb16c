import { useState } from "react";
import type { AuditEntry } from "../../generated/api";
import { call, download } from "../api/client";
import { Badge, Button, Empty, PageHead, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Select } from "../system/form";
import { JSONView } from "../system/json";
import { usePages } from "../system/load";
import { useOpened } from "../system/opened";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { ago, t, time } from "../text";

const areas = [
  "applications",
  "storage",
  "users",
  "config",
  "experiments",
  "languages",
  "analytics",
  "crashes",
  "tickets",
  "notifications",
  "staff",
  "status"
];

/** The address of the entries about one thing, and what is in it. */
export function historyOf(filter: { area: string; target: string; app?: string; environment?: string }): string {
  return "/audit?" + new URLSearchParams(filter);
}

export function AuditPage() {
  const { query } = useAddress();
  const filter = {
    area: query.get("area") ?? "",
    action: query.get("action") ?? "",
    staff: query.get("staff") ?? "",
    target: query.get("target") ?? "",
    app: query.get("app") ?? "",
    environment: query.get("environment") ?? "",
    from: query.get("from") ?? ""
  };
  const from = filter.from ? filter.from + "T00:00:00Z" : undefined;
  const asked = { ...filter, from };
  const list = usePages<AuditEntry>(
    (before) => call("GET /admin/audit", { query: { ...asked, before, limit: 50 } }),
    Object.values(filter)
  );
  // An address may name an entry that the list has not reached.
  const [shown, show] = useOpened(list.data, (entry) => entry.number, async (number) => {
    if (!/^\d{1,15}$/.test(number)) return undefined;
    const { data } = await call("GET /admin/audit", { query: { before: Number(number) + 1, limit: 1 } });
    return data.find((entry) => String(entry.number) === number);
  });
  const isFiltered = Object.values(filter).some(Boolean);
  return (
    <div className="page">
      <PageHead title={t("Audit log")} note={t("Every change by staff, written together with the change itself.")}>
        <Button
          icon="download"
          onPress={() => download("GET /admin/audit/export", { query: { ...asked, format: "csv" } }, "audit.csv")}>
          CSV
        </Button>
      </PageHead>
      <div className="toolbar">
        <Select
          label={t("Area")}
          value={filter.area}
          change={(area) => setQuery({ area })}
          options={[{ value: "", title: t("All areas") }, ...areas.map((area) => ({ value: area, title: area }))]} />
        <span style={{ width: 180 }}>
          <TextFilter key={filter.action} name="action" value={filter.action} label={t("Action")} />
        </span>
        <span style={{ width: 240 }}>
          <TextFilter key={filter.target} name="target" value={filter.target} label={t("Target, such as Note/id")} />
        </span>
        <input
          type="date"
          aria-label={t("Since")}
          value={filter.from}
          style={{ width: 150 }}
          onChange={(event) => setQuery({ from: event.currentTarget.value })} />
        {isFiltered && (
          <Button
            kind="quiet"
            onPress={() => setQuery(Object.fromEntries(Object.keys(filter).map((name) => [name, ""])))}>
            {t("Clear")}
          </Button>
        )}
        {filter.app && <Badge>{[filter.app, filter.environment].filter(Boolean).join(" · ")}</Badge>}
      </div>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Audit log")}
            rows={rows}
            id={(entry) => entry.number}
            open={show}
            hasMore={list.hasMore}
            more={list.more}
            empty={<Empty icon="audit" title={isFiltered ? t("Nothing matches") : t("Nothing has been changed yet")} />}
            columns={[
              {
                name: "time",
                title: t("When"),
                width: "150px",
                cell: (entry) => <span className="soft" title={time(entry.time)}>{ago(entry.time)}</span>
              },
              { name: "who", title: t("Who"), width: "160px", cell: (entry) => entry.staff.userName },
              { name: "action", title: t("What"), width: "230px", cell: (entry) => <code>{entry.action}</code> },
              { name: "target", title: t("Target"), cell: (entry) => <span className="soft">{entry.target}</span> },
              {
                name: "app",
                title: t("App"),
                width: "140px",
                isExtra: true,
                cell: (entry) => <code className="soft">{entry.app}</code>
              },
              {
                name: "address",
                title: t("From"),
                width: "130px",
                isExtra: true,
                cell: (entry) => <span className="soft">{entry.address}</span>
              }
            ]} />
        )}
      </Show>
      {shown && shown !== "new" && (
        <Dialog title={shown.action} close={() => show(null)} isWide>
          <dl className="facts">
            <dt>{t("When")}</dt>
            <dd>{time(shown.time)}</dd>
            <dt>{t("Who")}</dt>
            <dd>{shown.staff.userName}</dd>
            {shown.target && (
              <>
                <dt>{t("Target")}</dt>
                <dd className="break">
                  {shown.target}{" "}
                  <Button
                    kind="quiet"
                    isSmall
                    onPress={() => {
                      setQuery({ area: shown.area, target: shown.target, app: shown.app, action: "", from: "" });
                      show(null);
                    }}>
                    {t("History")}
                  </Button>
                </dd>
              </>
            )}
          </dl>
          <div className="columns">
            <div className="stack">
              <h3>{t("Before")}</h3>
              <JSONView value={shown.before ?? null} />
            </div>
            <div className="stack">
              <h3>{t("After")}</h3>
              <JSONView value={shown.after ?? null} />
            </div>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** A filter by text, used when the field is left or Enter is pressed. */
export function TextFilter({ name, value, label }: { name: string; value: string; label: string }) {
  const [text, setText] = useState(value);
  // A link or a button may change the filter, too.
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    setText(value);
  }
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={() => setQuery({ [name]: text.trim() })}
      onKeyDown={(event) => event.key === "Enter" && setQuery({ [name]: text.trim() })} />
  );
}
