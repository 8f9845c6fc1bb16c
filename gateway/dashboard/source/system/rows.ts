// Which rows of a long table are drawn, and where. Browsers limit the height of an element, Firefox to 17.8 million
// pixels and Chromium to 33.5 million. A table that would be higher gets a lower height, and its scroll position stands
// for the proportional one of the full height.

export interface Rows {
  count: number;
  height: number;
  /** The height of what is seen of the table. */
  view: number;
}

export interface Range {
  from: number;
  to: number;
  /** How far the rows are drawn above their place in a table of full height. */
  shift: number;
}

const mostHeight = 10_000_000;
/** Rows that are drawn above and below those that are seen. */
export const ahead = 12;

/** The height of the table's body. */
export const heightOf = ({ count, height }: Rows): number => Math.min(count * height, mostHeight);

/** Pixels of the full height for each pixel of the scroll position. */
function scaleOf(rows: Rows): number {
  const drawn = heightOf(rows) - rows.view;
  return drawn > 0 ? (rows.count * rows.height - rows.view) / drawn : 1;
}

export const isScaled = (rows: Rows): boolean => scaleOf(rows) > 1;

/** The scroll position that a table of full height would have. */
export function offsetOf(top: number, rows: Rows): number {
  return isScaled(rows) ? Math.min(Math.max(top, 0), heightOf(rows) - rows.view) * scaleOf(rows) : top;
}

/** The scroll position for one that `offsetOf` returned, perhaps for another number of rows. */
export const topOf = (offset: number, rows: Rows): number => offset / scaleOf(rows);

export function rangeAt(top: number, rows: Rows): Range {
  const offset = offsetOf(top, rows);
  const shift = offset - topOf(offset, rows);
  const first = Math.max(0, Math.floor(offset / rows.height) - ahead);
  const last = first + Math.ceil(rows.view / rows.height) + 2 * ahead;
  // No row is drawn above the table or below it.
  return {
    from: Math.max(first, Math.floor(shift / rows.height)),
    to: Math.min(last, Math.ceil((heightOf(rows) + shift) / rows.height)),
    shift
  };
}
