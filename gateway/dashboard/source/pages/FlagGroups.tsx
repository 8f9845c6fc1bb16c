// The conditions and groups that rules of flags may name.

import { ReactNode } from "react";
import { Section } from "../system/basics";
import { own } from "../system/own";
import { t } from "../text";
import { Conditions } from "./FlagConditions";
import {
  isRecord,
  isScalar,
  Members,
  readList,
  readPlain,
  Scalar,
  withMember,
  writeList,
  writeWhen
} from "./flagRules";
import { NamedCards, NotShown, ValueInput } from "./TypedInputs";

export function FlagGroups(
  { draft, change, isReadOnly }: { draft: Members; change: (draft: Members) => void; isReadOnly: boolean }
) {
  const groups = own(draft, "savedGroups") ?? {};
  return (
    <fieldset className="stack-large" disabled={isReadOnly}>
      <Named
        {...{ draft, change }}
        member="conditions"
        title={t("Named conditions")}
        note={t("Rules of all flags may name them.")}
        empty={t("No named conditions yet.")}
        label={t("Name of a new condition")}
        start={{}}
        show={(_, condition, set) => {
          const when = readPlain(condition);
          return when ?
            (
              <Conditions
                when={when}
                change={(next) => set(writeWhen(next) ?? {})}
                names={[]}
                groups={isRecord(groups) ? Object.keys(groups) : []} />
            ) :
            <NotShown value={condition} />;
        }} />
      <Named
        {...{ draft, change }}
        member="savedGroups"
        title={t("Groups")}
        note={t("Lists of values, such as ids of users, that conditions may name.")}
        empty={t("No groups yet.")}
        label={t("Name of a new group")}
        start={[]}
        show={(name, values, set) =>
          Array.isArray(values) && values.every(isScalar) ?
            (
              <ValueInput<Scalar[]>
                label={t("Values of {name}", { name })}
                value={values}
                change={set}
                read={readList}
                write={writeList}
                placeholder="CH, AT, DE" />
            ) :
            <NotShown value={values} />} />
    </fieldset>
  );
}

/** The members of one member of the document, by name. */
function Named(
  { draft, change, member, title, note, empty, label, start, show }: {
    draft: Members;
    change: (draft: Members) => void;
    member: string;
    title: string;
    note: string;
    empty: string;
    label: string;
    /** The value of a new one. */
    start: unknown;
    show: (name: string, value: unknown, set: (value: unknown) => void) => ReactNode;
  }
) {
  const all = own(draft, member) ?? {};
  const set = (next: Members) => change(withMember(draft, member, Object.keys(next).length > 0 ? next : undefined));
  if (!isRecord(all)) return <NotShown value={all} />;
  return (
    <Section title={title} note={note}>
      {Object.keys(all).length === 0 && <p className="faint">{empty}</p>}
      <NamedCards members={all} change={set} label={label} start={() => start} show={show} />
    </Section>
  );
}
