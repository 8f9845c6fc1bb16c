// One table: rows of one height, drawn only where they are seen, so a list may have a million rows.

import { ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { t } from "../text";
import { base, go } from "./router";
import { ahead, heightOf, isScaled, offsetOf, Range, rangeAt, topOf } from "./rows";

export interface Column<Row> {
  name: string;
  title: ReactNode;
  cell: (row: Row) => ReactNode;
  width?: string;
  isNumber?: boolean;
  /** Left out on narrow screens. */
  isExtra?: boolean;
}

interface Properties<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  id: (row: Row) => string | number;
  /** The address of a row's own page. */
  to?: (row: Row) => string;
  open?: (row: Row) => void;
  empty?: ReactNode;
  hasMore?: boolean;
  more?: () => void;
  /** Fills the height that is left and scrolls by itself. */
  isTall?: boolean;
  current?: string | number;
  selected?: Set<string | number>;
  select?: (id: string | number) => void;
  /** Puts a box above those of the rows, for all rows that were read. */
  selectAll?: (isSelected: boolean) => void;
}

/** Rows that a finger can hit are a little higher. As in style.css. */
const isForFingers = window.matchMedia("(max-width: 860px), (pointer: coarse)");
const heightOfRows = () => (isForFingers.matches ? 48 : 40);
/** On a phone, a table whose columns need more than its width scrolls sideways. */
const leastWidth = 120;

export function Table<Row>(given: Properties<Row>) {
  const { rows, columns, more, hasMore } = given;
  const box = useRef<HTMLDivElement | null>(null);
  const [range, setRange] = useState<Range>({ from: 0, to: 60, shift: 0 });
  const offset = useRef(0);

  const measure = () => {
    const element = box.current;
    if (!element) return undefined;
    const scroller = given.isTall ? element : document.getElementById("main") ?? element;
    const top = given.isTall ?
      element.scrollTop :
      scroller.getBoundingClientRect().top - element.getBoundingClientRect().top;
    return { scroller, top, all: { count: rows.length, height: heightOfRows(), view: scroller.clientHeight } };
  };
  const look = () => {
    const found = measure();
    if (!found) return;
    offset.current = offsetOf(found.top, found.all);
    const next = rangeAt(found.top, found.all);
    setRange((old) => (old.from === next.from && old.to === next.to && old.shift === next.shift ? old : next));
    if (hasMore && next.to >= rows.length - ahead) more?.();
  };
  useLayoutEffect(() => {
    // In a scaled table, the same rows have another scroll position when the list grows.
    const found = measure();
    if (found && found.top > 0 && isScaled(found.all)) {
      found.scroller.scrollTop += topOf(offset.current, found.all) - found.top;
    }
    look();
  }, [rows, hasMore]);
  useEffect(() => {
    const scroller = given.isTall ? box.current : document.getElementById("main");
    scroller?.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", look);
    return () => {
      scroller?.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
    };
  });

  if (rows.length === 0) return <>{given.empty}</>;
  const isLong = rows.length > 100;
  const [from, to] = isLong ? [Math.min(range.from, rows.length), Math.min(range.to, rows.length)] : [0, rows.length];
  const span = columns.length + (given.select ? 1 : 0);
  const rowHeight = heightOfRows();
  const above = Math.max(0, from * rowHeight - range.shift);
  const below = heightOf({ count: rows.length, height: rowHeight, view: 0 }) - above - (to - from) * rowHeight;
  const narrowWidth = columns.filter((column) => !column.isExtra)
    .reduce((sum, { width }) => sum + (width?.endsWith("px") ? parseInt(width) : leastWidth), given.select ? 44 : 0);

  const act = (row: Row, event: MouseEvent) => {
    if ((event.target as HTMLElement).closest("a, button, input, label, select, summary")) return;
    if (window.getSelection()?.toString()) return;
    const address = given.to?.(row);
    if (address && (event.metaKey || event.ctrlKey)) window.open(base + address);
    else if (address) go(address);
    else given.open?.(row);
  };
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const line = (event.target as HTMLElement).closest("tr");
    if (!line || (event.target as HTMLElement).closest("input, select, textarea")) return;
    if (step !== 0) {
      const next = step > 0 ? line.nextElementSibling : line.previousElementSibling;
      if (next instanceof HTMLElement && next.dataset.row !== undefined) {
        event.preventDefault();
        next.focus();
        next.scrollIntoView({ block: "nearest" });
      }
    } else if (
      event.key === "PageDown" || event.key === "PageUp" ||
      (event.key === " " && event.target === line && !given.select)
    ) {
      // In a scaled table, the browser would leave rows out.
      const found = measure();
      if (!found || !isScaled(found.all)) return;
      event.preventDefault();
      const isUp = event.key === "PageUp" || (event.key === " " && event.shiftKey);
      const page = (isUp ? -0.9 : 0.9) * found.all.view;
      found.scroller.scrollTop += topOf(page, found.all);
      look();
      // The row that had the focus may no longer be drawn.
      const first = Math.ceil(offset.current / found.all.height) + 2;
      requestAnimationFrame(() =>
        box.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${first}"]`)?.focus({ preventScroll: true })
      );
    } else if (event.key === "Enter" && event.target === line) {
      const row = rows.find((one) => String(given.id(one)) === line.dataset.row);
      if (row === undefined) return;
      const address = given.to?.(row);
      if (address) go(address);
      else given.open?.(row);
    } else if (event.key === " " && event.target === line && given.select) {
      event.preventDefault();
      const row = rows.find((one) => String(given.id(one)) === line.dataset.row);
      if (row !== undefined) given.select(given.id(row));
    }
  };
  const isActive = given.to !== undefined || given.open !== undefined;

  return (
    <div className={"table" + (given.isTall ? " tall" : "")} ref={box}>
      <table
        className="fixed"
        style={{ "--narrow": narrowWidth + "px" }}
        aria-label={given.label}
        aria-rowcount={hasMore ? -1 : rows.length + 1}>
        <colgroup>
          {given.select && <col className="select-column" />}
          {columns.map((column) => (
            <col key={column.name} className={column.isExtra ? "extra" : ""} style={{ width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {given.select && (
              <th className="tick">
                {given.selectAll && (
                  <label>
                    <input
                      type="checkbox"
                      checked={rows.length > 0 && rows.every((row) => given.selected?.has(given.id(row)))}
                      aria-label={t("Select all rows")}
                      onChange={(event) => given.selectAll?.(event.currentTarget.checked)} />
                  </label>
                )}
              </th>
            )}
            {columns.map((column) => <th key={column.name} scope="col" className={classes(column)}>{column.title}</th>)}
          </tr>
        </thead>
        <tbody onKeyDown={move}>
          {isLong && above > 0 && (
            <tr aria-hidden="true">
              <td colSpan={span} style={{ height: above, padding: 0 }} />
            </tr>
          )}
          {rows.slice(from, to).map((row, index) => {
            const id = given.id(row);
            return (
              <tr
                key={id}
                data-row={id}
                tabIndex={isActive ? 0 : undefined}
                aria-rowindex={from + index + 2}
                className={(isActive ? "active" : "") + (given.current === id ? " current" : "")}
                onClick={isActive ? (event) => act(row, event) : undefined}>
                {given.select && (
                  <td className="tick">
                    <label>
                      <input
                        type="checkbox"
                        checked={given.selected?.has(id) ?? false}
                        aria-label={t("Select row")}
                        onChange={() => given.select?.(id)} />
                    </label>
                  </td>
                )}
                {columns.map((column) => <td key={column.name} className={classes(column)}>{column.cell(row)}</td>)}
              </tr>
            );
          })}
          {isLong && below > 0 && (
            <tr aria-hidden="true">
              <td colSpan={span} style={{ height: below, padding: 0 }} />
            </tr>
          )}
        </tbody>
      </table>
      {hasMore && (
        <div className="table-more">
          <button type="button" className="button small" onClick={more}>{t("Show more")}</button>
        </div>
      )}
    </div>
  );
}

function classes<Row>(column: Column<Row>): string {
  return (column.isNumber ? "number " : "") + (column.isExtra ? "extra" : "");
}
