// Views that are downloaded when they are first shown, so that the first page stays small.

import { Problem } from "../api/problem";
import { Show } from "./basics";
import { useLoad } from "./load";

/** The view that `load` imports. If the download fails, the member can try again. */
export function lazy<Properties extends {}>(
  load: () => Promise<(given: Properties) => JSX.Element | null>
): (given: Properties) => JSX.Element {
  const read = () =>
    load().catch(() => {
      throw new Problem(0, "no-answer", "");
    });
  return function Lazy(given: Properties) {
    const view = useLoad(read, []);
    return <Show from={view}>{(View) => <View {...given} />}</Show>;
  };
}
