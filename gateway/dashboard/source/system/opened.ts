// The row of a list whose dialog is open, by the address.

import { useEffect, useRef, useState } from "react";
import { t } from "../text";
import { sayProblem } from "./basics";
import { setQuery, useAddress } from "./router";
import { say } from "./toast";

/**
 * The row whose dialog is open, or "new". The row is part of the address, and stays as it was when it was opened, so
 * that a change by somebody else in the meantime is not overwritten. `find` reads a row that the list has not reached.
 */
export function useOpened<Row extends object>(
  rows: Row[] | undefined,
  id: (row: Row) => string | number | undefined,
  find: (id: string) => Promise<Row | undefined> = async () => undefined
): [Row | "new" | null, (next: Row | "new" | null) => void] {
  const wanted = useAddress().query.get("open") ?? "";
  const [isNew, setNew] = useState(false);
  const [, redraw] = useState({});
  const kept = useRef<{ id: string; row: Row } | null>(null);
  if (kept.current?.id !== wanted) {
    const row = wanted === "" ? undefined : rows?.find((one) => String(id(one)) === wanted);
    kept.current = row ? { id: wanted, row } : null;
  }
  const isMissing = wanted !== "" && rows !== undefined && kept.current === null;
  useEffect(() => {
    if (!isMissing) return;
    let isCurrent = true;
    find(wanted).then((row) => {
      if (!isCurrent) return;
      if (row) {
        kept.current = { id: wanted, row };
        redraw({});
      } else {
        say(t("This does not exist (any more)"), { tone: "bad" });
        setQuery({ open: "" });
      }
    }).catch((error) => {
      if (!isCurrent) return;
      sayProblem(error);
      setQuery({ open: "" });
    });
    return () => void (isCurrent = false);
  }, [wanted, isMissing]);
  const open = (next: Row | "new" | null) => {
    setNew(next === "new");
    setQuery({ open: next === null || next === "new" ? "" : String(id(next)) });
  };
  return [isNew ? "new" : kept.current?.row ?? null, open];
}
