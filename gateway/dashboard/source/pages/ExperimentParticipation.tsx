// Who takes part in an A/B test, and when.

import { useState } from "react";
import { Notice, Section } from "../system/basics";
import { Check, TextField } from "../system/form";
import { own } from "../system/own";
import { t } from "../text";
import { Conditions } from "./FlagConditions";
import { isNumber, isRecord, isText, Members, pass, readPlain, withMember, writeWhen } from "./flagRules";
import { Labelled, NotShown, NumberField, ValueInput } from "./TypedInputs";

interface Part {
  draft: Members;
  change: (draft: Members) => void;
}

export function Participation({ draft, change }: Part) {
  const condition = own(draft, "condition") ?? undefined;
  // Named conditions belong to the flags.
  const when = readPlain(condition);
  const coverage = own(draft, "coverage") ?? undefined;
  return (
    <Section
      title={t("Participants")}
      note={t("Everybody with an id takes part, unless a condition or a share leaves them out.")}>
      {when ?
        (
          <Conditions
            when={when}
            change={(next) => change(withMember(draft, "condition", writeWhen(next)))}
            names={[]}
            groups={[]} />
        ) :
        <NotShown value={condition} />}
      <div className="pair">
        {coverage === undefined || isNumber(coverage) ?
          (
            <NumberField
              label={t("Share that takes part, in percent")}
              hint={t("The others get what is live. Raising it moves nobody to another variation.")}
              value={coverage as number | undefined}
              change={(share) => change(withMember(draft, "coverage", share))}
              least={0}
              most={1}
              usual={1}
              isShare />
          ) :
          <NotShown value={coverage} />}
        <TimeField label={t("Begins")} name="start" {...{ draft, change }} />
        <TimeField label={t("Ends")} name="end" {...{ draft, change }} />
      </div>
      <div className="pair">
        <WordField
          label={t("App version")}
          hint={t("Only this version takes part. If a configuration is tested, it must be the configuration's.")}
          name="appVersion"
          most={64}
          {...{ draft, change }} />
        <WordField
          label={t("Seed")}
          hint={t("Ids are hashed with it. Default: the name of the test.")}
          name="seed"
          most={100}
          {...{ draft, change }} />
      </div>
      <Namespace {...{ draft, change }} />
      <Holdout {...{ draft, change }} />
      {(draft.state === "running" || draft.state === "stopped") && <Reassignment {...{ draft, change }} />}
    </Section>
  );
}

interface Span {
  name: string;
  range: [number, number];
}

const isSpan = (value: unknown): value is Span =>
  isRecord(value) && isText(value.name) && Array.isArray(value.range) && value.range.length === 2 &&
  value.range.every(isNumber);

function Namespace({ draft, change }: Part) {
  const stored = own(draft, "namespace") ?? undefined;
  const span = isSpan(stored) ? stored : undefined;
  const set = (next: Span | undefined) => change(withMember(draft, "namespace", next));
  if (stored !== undefined && !span) return <NotShown value={stored} />;
  const setEnd = (end: 0 | 1) => (share: number | undefined) => {
    if (!span || share === undefined) return;
    set({ ...span, range: end === 0 ? [share, span.range[1]] : [span.range[0], share] });
  };
  const common = { least: 0, most: 1, isShare: true, isRequired: true };
  return (
    <>
      <Check
        label={t("Shares no units with other tests")}
        hint={t("Tests in one namespace have no unit in common if their parts of it do not overlap.")}
        value={span !== undefined}
        change={(isOn) => set(isOn ? { name: "tests", range: [0, 0.5] } : undefined)} />
      {span && (
        <div className="pair">
          <NameField label={t("Namespace")} value={span.name} change={(name) => set({ ...span, name })} />
          <NumberField
            label={t("Start of its part, in percent")}
            value={span.range[0]}
            change={setEnd(0)}
            {...common} />
          <NumberField label={t("End of its part, in percent")} value={span.range[1]} change={setEnd(1)} {...common} />
        </div>
      )}
      {span && span.range[0] >= span.range[1] && <Notice tone="warning">{t("This part is empty.")}</Notice>}
    </>
  );
}

interface Kept {
  seed: string;
  share: number;
}

const isKept = (value: unknown): value is Kept => isRecord(value) && isText(value.seed) && isNumber(value.share);

function Holdout({ draft, change }: Part) {
  const stored = own(draft, "holdout") ?? undefined;
  const holdout = isKept(stored) ? stored : undefined;
  const set = (next: Kept | undefined) => change(withMember(draft, "holdout", next));
  if (stored !== undefined && !holdout) return <NotShown value={stored} />;
  return (
    <>
      <Check
        label={t("Keeps a holdout")}
        hint={t("A share of the units that takes part in no test with the same holdout.")}
        value={holdout !== undefined}
        change={(isOn) => set(isOn ? { seed: String(new Date().getFullYear()), share: 0.05 } : undefined)} />
      {holdout && (
        <div className="pair">
          <NameField label={t("Holdout")} value={holdout.seed} change={(seed) => set({ ...holdout, seed })} />
          <NumberField
            label={t("Share of the holdout, in percent")}
            value={holdout.share}
            change={(share) => share !== undefined && set({ ...holdout, share })}
            least={0}
            most={0.9}
            isShare
            isRequired />
        </div>
      )}
    </>
  );
}

/** A change that would move units to other variations needs one of the first two numbers raised. */
function Reassignment({ draft, change }: Part) {
  if (!pass(draft, ["phase", "bucketVersion", "minimumBucketVersion"], isNumber)) return null;
  const field = (name: string, label: string, hint: string, most = 1000) => (
    <NumberField
      label={label}
      hint={hint}
      value={own(draft, name) as number | undefined}
      change={(next) => change(withMember(draft, name, next))}
      least={0}
      most={most}
      usual={0}
      isWhole />
  );
  const sticky = own(draft, "sticky") ?? true;
  return (
    <>
      <p className="note">
        {t("Other participants or shares would move units to other variations. Then raise the phase or the assignment:")}
      </p>
      <div className="pair">
        {field("phase", t("Phase"), t("Units that take part keep their variation."))}
        {field("bucketVersion", t("Assignment"), t("All units are assigned again, and the results start over."))}
        {field(
          "minimumBucketVersion",
          t("Oldest assignment that takes part"),
          t("Units that got a variation under an older one are left out."),
          Number(own(draft, "bucketVersion") ?? 0)
        )}
      </div>
      {typeof sticky === "boolean" ?
        (
          <Check
            label={t("Units keep their variation in a new phase")}
            hint={t("Off: a new phase may move them.")}
            value={sticky}
            change={(isOn) => change(withMember(draft, "sticky", isOn ? undefined : false))} />
        ) :
        <NotShown value={sticky} />}
    </>
  );
}

function WordField({ label, hint, name, most, draft, change }: Part & {
  label: string;
  hint: string;
  name: string;
  most: number;
}) {
  const stored = own(draft, name) ?? "";
  if (typeof stored !== "string") return <NotShown value={stored} />;
  return (
    <TextField
      label={label}
      hint={hint}
      value={stored}
      change={(text) => change(withMember(draft, name, text || undefined))}
      maximumLength={most}
      isCode
      isOptional />
  );
}

const readName = (text: string) => (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text) ? text : undefined);

function NameField({ label, value, change }: { label: string; value: string; change: (name: string) => void }) {
  return (
    <Labelled
      label={label}
      control={(id) => (
        <ValueInput<string>
          id={id}
          label=""
          value={value}
          change={change}
          read={readName}
          write={(name) => name}
          problem={t("Up to 64 letters, digits and . _ -, starting with a letter or digit.")}
          isCode
          isRequired />
      )} />
  );
}

/** A time as the browser's clock shows it. */
function TimeField({ label, name, draft, change }: Part & { label: string; name: string }) {
  const stored = own(draft, name) ?? undefined;
  // What was typed: a year is complete only with its last digit.
  const [typed, setTyped] = useState({ text: localOf(stored), stored });
  if (stored !== undefined && localOf(stored) === "") return <NotShown value={stored} />;
  return (
    <TextField
      label={label}
      type="datetime-local"
      value={typed.stored === stored ? typed.text : localOf(stored)}
      change={(text) => {
        const date = new Date(text);
        const next = Number.isNaN(date.getTime()) ? undefined : date.toISOString().replace(/\.\d+Z$/, "Z");
        setTyped({ text, stored: next });
        change(withMember(draft, name, next));
      }}
      isOptional />
  );
}

/** The value of a date-and-time input; empty if `time` is not a time. */
function localOf(time: unknown): string {
  const date = new Date(isText(time) ? String(time) : NaN);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
