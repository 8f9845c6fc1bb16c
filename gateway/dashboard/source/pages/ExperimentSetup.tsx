// What an A/B test compares and for whom: variations, participants, metrics, guard rails.

import { usePlace } from "../shell/place";
import { Badge, Button, Notice, Section } from "../system/basics";
import { Check, Choice, TextField } from "../system/form";
import { Finding, Severity } from "../system/json";
import { useLoad } from "../system/load";
import { own } from "../system/own";
import { setQuery } from "../system/router";
import { number, t } from "../text";
import { readFlags } from "./document";
import { GuardRails } from "./ExperimentGuardRails";
import { Metrics } from "./ExperimentMetrics";
import { Participation } from "./ExperimentParticipation";
import {
  fits,
  Flag,
  initialValues,
  isNumber,
  isRecord,
  isText,
  Members,
  pass,
  percentOf,
  readScalar,
  Scalar,
  typeOf,
  withMember,
  writeScalar
} from "./flagRules";
import { NamedLines, NotShown, NumberField, TypedValue, useKeys, ValueInput } from "./TypedInputs";

const mostVariations = 20;

type Change = (draft: Members) => void;

export function Setup(
  { draft, change, findings, isReadOnly }: {
    draft: Members;
    change: Change;
    /** The findings of the draft's last check. */
    findings: Finding[];
    isReadOnly: boolean;
  }
) {
  const place = usePlace();
  const flags = useLoad(
    async (): Promise<Record<string, Flag>> => (place.may("config", "read") ? readFlags(place) : {}),
    [place.app.id, place.environment]
  );
  return (
    <div className="stack-large">
      {draft.state === "running" && (
        <Notice>
          {t("The test runs as it was when it started. Changes take effect when it is started again.")}
        </Notice>
      )}
      {findings.length > 0 && <Findings findings={findings} />}
      <fieldset className="stack-large" disabled={isReadOnly || draft.state === "decided"}>
        <General draft={draft} change={change} />
        <Variations draft={draft} change={change} flags={flags.data ?? {}} />
        <Participation draft={draft} change={change} />
        <Metrics draft={draft} change={change} />
        <GuardRails draft={draft} change={change} />
      </fieldset>
    </div>
  );
}

function General({ draft, change }: { draft: Members; change: Change }) {
  if (!pass(draft, ["title", "description", "unit"], isText)) return null;
  const text = (name: string) => (own(draft, name) as string | undefined) ?? "";
  const set = (name: string) => (value: string) => change(withMember(draft, name, value || undefined));
  return (
    <div className="pair">
      <TextField label={t("What is tested")} value={text("title")} change={set("title")} maximumLength={200} />
      <TextField
        label={t("Description")}
        value={text("description")}
        change={set("description")}
        maximumLength={5000}
        isOptional />
      <Choice
        label={t("Who keeps a variation")}
        value={text("unit") || "user"}
        change={set("unit")}
        options={[{ value: "device", title: t("Device") }, { value: "user", title: t("User") }]} />
    </div>
  );
}

/** A click on a finding opens the JSON, where its place is marked. */
function Findings({ findings }: { findings: Finding[] }) {
  return (
    <ul className="findings" aria-label={t("Findings")}>
      {findings.map((one) => (
        <li key={one.path + one.message}>
          <button type="button" onClick={() => setQuery({ tab: "json" })}>
            <Severity finding={one} />
            <span>{one.message}</span>
            <code>{one.path}</code>
          </button>
        </li>
      ))}
    </ul>
  );
}

interface Pin {
  name?: string;
  version?: number;
}

const isPin = (value: unknown) =>
  isRecord(value) && pass(value, ["name"], isText) && pass(value, ["version"], isNumber);

/** Whether the form can show a variation. */
const isShown = (variation: unknown): variation is Members =>
  isRecord(variation) && isText(variation.key) && pass(variation, ["name"], isText) &&
  pass(variation, ["weight"], isNumber) && pass(variation, ["flags"], isRecord) &&
  pass(variation, ["configuration"], isPin);

function Variations({ draft, change, flags }: { draft: Members; change: Change; flags: Record<string, Flag> }) {
  const all: unknown[] = Array.isArray(draft.variations) ? draft.variations : [];
  const rows = useKeys(all.length);
  const set = (variations: unknown[]) => change({ ...draft, variations });
  const replace = (index: number, next: Members) => set(all.map((one, place) => (place === index ? next : one)));
  const shown = all.filter(isShown);
  const weights = shown.map((one) => own(one, "weight") as number | undefined);
  const hasWeights = weights.some((one) => one !== undefined);
  const sum = weights.reduce<number>((total, one) => total + (one ?? 0), 0);
  const keys = shown.map((one) => String(one.key));
  const freeKey = () => {
    let n = all.length;
    while (keys.includes("variation-" + n)) n++;
    return "variation-" + n;
  };
  // The others keep their proportions.
  const add = () => {
    const share = 1 / (all.length + 1);
    const others = hasWeights ? scaled(all, 1 - share) : all;
    set([...others, { key: freeKey(), ...(hasWeights ? { weight: rounded(share) } : {}) }]);
  };
  const remove = (index: number) => {
    const rest = all.filter((_, place) => place !== index);
    rows.remove(index);
    const left = 1 - (weights[shown.indexOf(all[index] as Members)] ?? 0);
    set(hasWeights && left > 0 ? scaled(rest, 1 / left) : rest);
  };
  const weigh = (isOn: boolean) =>
    set(all.map((one) => (isShown(one) ? withMember(one, "weight", isOn ? rounded(1 / all.length) : undefined) : one)));
  if (draft.variations != null && !Array.isArray(draft.variations)) return <NotShown value={draft.variations} />;
  return (
    <Section
      title={t("Variations")}
      note={t("The others are compared with the first, the control. A variation gives flags other values.")}>
      <TextField
        label={t("Configuration that is replaced")}
        hint={t("Only if variations have configurations. Such as 1.2.0 or 1.2.0~Dark.")}
        value={String(own(draft, "configuration") ?? "")}
        change={(configuration) => change(withMember(draft, "configuration", configuration || undefined))}
        isCode
        isOptional />
      <Check
        label={t("Different shares")}
        hint={t("Off: all variations get the same share.")}
        value={hasWeights}
        change={weigh} />
      {hasWeights && (sum < 0.99 || sum > 1.01 || weights.some((one) => one === undefined)) && (
        <Notice tone="warning">
          {t("The shares add up to {n} %, not to 100 %.", { n: number(percentOf(sum)) })}
        </Notice>
      )}
      <ol className="stack" aria-label={t("Variations")}>
        {all.map((variation, index) => (
          <li key={rows.keys[index]} className="card">
            <div className="row">
              <h3>{isShown(variation) ? String(variation.name ?? variation.key) : t("Variation")}</h3>
              {index === 0 && <Badge>{t("control")}</Badge>}
              <Button
                icon="trash"
                kind="quiet"
                isSmall
                isDisabled={all.length <= 2}
                label={t("Remove variation {n}", { n: index + 1 })}
                onPress={() => remove(index)} />
            </div>
            {isShown(variation) ?
              (
                <VariationFields
                  variation={variation}
                  change={(next) => replace(index, next)}
                  flags={flags}
                  hasWeight={hasWeights}
                  hasConfiguration={Boolean(draft.configuration)} />
              ) :
              <NotShown value={variation} />}
          </li>
        ))}
      </ol>
      <div>
        <Button icon="plus" isDisabled={all.length >= mostVariations} onPress={add}>{t("Add a variation")}</Button>
      </div>
    </Section>
  );
}

const rounded = (share: number) => Math.round(share * 10_000) / 10_000;

const scaled = (variations: unknown[], factor: number) =>
  variations.map((one) =>
    isShown(one) && isNumber(one.weight) ? { ...one, weight: rounded(Number(one.weight) * factor) } : one
  );

function VariationFields(
  { variation, change, flags, hasWeight, hasConfiguration }: {
    variation: Members;
    change: (variation: Members) => void;
    flags: Record<string, Flag>;
    hasWeight: boolean;
    hasConfiguration: boolean;
  }
) {
  const values = (own(variation, "flags") ?? {}) as Members;
  const pin = (own(variation, "configuration") ?? {}) as Pin;
  const setFlags = (next: Members) =>
    change(withMember(variation, "flags", Object.keys(next).length > 0 ? next : undefined));
  const setPin = (name: string, value: unknown) => {
    const next = withMember({ ...pin } as Members, name, value);
    change(withMember(variation, "configuration", Object.keys(next).length > 0 ? next : undefined));
  };
  return (
    <div className="stack">
      <div className="pair">
        <TextField
          label={t("Key")}
          value={String(variation.key)}
          change={(key) => change({ ...variation, key })}
          isCode
          isRequired />
        <TextField
          label={t("Name")}
          value={String(own(variation, "name") ?? "")}
          change={(name) => change(withMember(variation, "name", name || undefined))}
          isOptional />
        {hasWeight && (
          <NumberField
            label={t("Share in percent")}
            value={own(variation, "weight") as number | undefined}
            change={(weight) => change(withMember(variation, "weight", weight))}
            least={0.0001}
            most={1}
            isShare
            isRequired />
        )}
      </div>
      {(hasConfiguration || own(variation, "configuration") !== undefined) && (
        <div className="pair">
          <TextField
            label={t("Configuration")}
            hint={t("Empty: what is live.")}
            value={pin.name ?? ""}
            change={(name) => setPin("name", name || undefined)}
            isCode
            isOptional />
          <NumberField
            label={t("Version of the configuration")}
            value={pin.version}
            change={(version) => setPin("version", version)}
            least={1}
            most={2_147_483_647}
            isWhole />
        </div>
      )}
      <NamedLines
        legend={t("Flags")}
        members={values}
        change={setFlags}
        label={t("Name of a flag")}
        words={Object.keys(flags)}
        start={(name) => firstValue(own(flags, name))}
        show={(name, value, put) => (
          <FlagValue flag={own(flags, name)} label={t("Value of {name}", { name })} value={value} change={put} />
        )} />
    </div>
  );
}

/** The first value of a flag in a variation: for a boolean, the opposite of the flag's default. */
const firstValue = (flag: Flag | undefined): unknown =>
  !flag ? true : typeOf(flag) === "boolean" ? flag.default !== true : flag.default ?? initialValues[typeOf(flag)];

function FlagValue(
  { flag, label, value, change }: {
    flag: Flag | undefined;
    label: string;
    value: unknown;
    change: (value: unknown) => void;
  }
) {
  if (flag && fits(typeOf(flag), value)) return <TypedValue type={typeOf(flag)} {...{ label, value, change }} />;
  if (typeof value === "object") return <TypedValue type="json" {...{ label, value, change }} />;
  return (
    <ValueInput<Scalar> {...{ label, change }} value={value as Scalar} read={readScalar} write={writeScalar} />
  );
}
