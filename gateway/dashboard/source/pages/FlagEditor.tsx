// One flag: its rules and variants as a form, and all of it as JSON.

import { useRef, useState } from "react";
import { Badge, Button, Notice, Section, Tabs } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Check, Choice, Form, hasWrongText, Select, TextField, wrongText } from "../system/form";
import { JSONEditor, parse, pretty } from "../system/json";
import { own } from "../system/own";
import { number, t, Text } from "../text";
import { Conditions } from "./FlagConditions";
import {
  Answer,
  answerOf,
  answers,
  fits,
  Flag,
  FlagType,
  initialValues,
  isRecord,
  isShown,
  Members,
  newShare,
  readWhen,
  typeOf,
  withAnswer,
  withMember,
  without,
  writeWhen
} from "./flagRules";
import { AddName, Labelled, NotShown, NumberField, NumberInput, TypedValue, useKeys } from "./TypedInputs";

export type FlagView = "rules" | "json";

export function FlagEditor(
  { name, flag, document, first, close, keep, isReadOnly }: {
    name: string;
    flag: Flag;
    /** With the conditions and groups that rules may name. */
    document: Members;
    /** The view that is open at first. */
    first: FlagView;
    close: () => void;
    keep: (flag: Flag) => void;
    isReadOnly: boolean;
  }
) {
  const [text, setText] = useState(pretty(flag));
  const [view, setView] = useState(first);
  const fields = useRef<HTMLFieldSetElement | null>(null);
  const leave = () => {
    const isChanged = text !== pretty(flag) || wrongText(fields.current) !== null;
    if (!isChanged || window.confirm(t("There are unsaved changes. Leave anyway?"))) close();
  };
  const parsed = parse(text);
  const shown = isRecord(parsed.value) ? parsed.value as Flag : undefined;
  return (
    <Dialog title={name} close={leave} isWide>
      <Tabs<FlagView>
        label={t("Views")}
        current={view}
        choose={(next) => hasWrongText(fields.current) || setView(next)}
        tabs={[{ name: "rules", title: t("Rules") }, { name: "json", title: "JSON" }]} />
      <Form
        action={t("Keep in the draft")}
        cancel={leave}
        isReadOnly={isReadOnly}
        isDisabled={!shown}
        send={async () => shown && keep(shown)}>
        {view === "json" ?
          <JSONEditor label={t("Flag")} text={text} change={setText} isReadOnly={isReadOnly} /> :
          shown ?
          (
            <fieldset ref={fields} className="stack-large" disabled={isReadOnly}>
              {(shown.description === undefined || typeof shown.description === "string") && (
                <TextField
                  label={t("Description of the flag")}
                  value={shown.description ?? ""}
                  change={(words) => setText(pretty(withMember(shown, "description", words || undefined)))}
                  isOptional />
              )}
              <Check
                label={t("Devices evaluate this flag, too")}
                value={shown.localEvaluation === true}
                change={(isLocal) => setText(pretty(withMember(shown, "localEvaluation", isLocal || undefined)))}
                hint={t("Everybody with the app's key and secret can then read its rules.")} />
              <Variants flag={shown} change={(next) => setText(pretty(next))} />
              <Rules flag={shown} change={(next) => setText(pretty(next))} document={document} />
            </fieldset>
          ) :
          <Notice tone="bad">{t("The JSON has an error. Fix it in the JSON tab first.")}</Notice>}
      </Form>
    </Dialog>
  );
}

interface Part {
  flag: Flag;
  change: (flag: Flag) => void;
}

/** The named values of a flag. */
function Variants({ flag, change }: Part) {
  const type = typeOf(flag);
  const variants = own(flag, "variants") ?? {};
  const isUsable = isRecord(variants) && Object.values(variants).every((value) => fits(type, value));
  const set = (next: Members) => change(withMember(flag, "variants", Object.keys(next).length > 0 ? next : undefined));
  const rules = JSON.stringify(flag.rules ?? []);
  return (
    <Section title={t("Variants")} note={t("Named values that rules refer to.")}>
      {!isUsable ? <NotShown value={variants} /> : (
        <>
          {Object.entries(variants).map(([name, value]) => (
            <div key={name} className="toolbar">
              <code>{name}</code>
              <span className="grow">
                <TypedValue
                  type={type}
                  label={t("Value of {name}", { name })}
                  value={value}
                  change={(next) => set(withMember(variants, name, next))} />
              </span>
              <Button
                icon="trash"
                kind="quiet"
                isSmall
                label={t("Remove {name}", { name })}
                isDisabled={rules.includes(`"variant":${JSON.stringify(name)}`)}
                onPress={() => set(without(variants, [name]))} />
            </div>
          ))}
          <AddName
            label={t("Name of a new variant")}
            taken={Object.keys(variants)}
            add={(name) => set({ ...variants, [name]: initialValues[type] })} />
        </>
      )}
    </Section>
  );
}

function Rules({ flag, change, document }: Part & { document: Members }) {
  const type = typeOf(flag);
  const rules: unknown[] = Array.isArray(flag.rules) ? flag.rules : [];
  const rows = useKeys(rules.length);
  const set = (next: unknown[]) => change(withMember(flag, "rules", next.length > 0 ? next : undefined));
  const namesOf = (member: string) => {
    const found = own(document, member);
    return isRecord(found) ? Object.keys(found) : [];
  };
  const move = (index: number, step: number) => {
    const next = [...rules];
    next.splice(index + step, 0, ...next.splice(index, 1));
    rows.move(index, step);
    set(next);
  };
  if (flag.rules !== undefined && !Array.isArray(flag.rules)) return <NotShown value={flag.rules} />;
  return (
    <Section title={t("Rules")} note={t("The first rule that applies decides. If none applies, the default is used.")}>
      <Check
        label={t("Rules are on")}
        hint={t("Off: everybody gets the default.")}
        value={flag.enabled !== false}
        change={(isOn) => change(withMember(flag, "enabled", isOn ? undefined : false))} />
      <ol className="stack" aria-label={t("Rules")}>
        {rules.map((rule, index) => {
          const n = index + 1;
          return (
            <li key={rows.keys[index]} className="card">
              <div className="row">
                <h3>{t("Rule {n}", { n })}</h3>
                {isRecord(rule) && rule.enabled === false && <Badge>{t("off")}</Badge>}
                <Button
                  icon="up"
                  kind="quiet"
                  isSmall
                  isDisabled={index === 0}
                  label={t("Move rule {n} up", { n })}
                  onPress={() => move(index, -1)} />
                <Button
                  icon="down"
                  kind="quiet"
                  isSmall
                  isDisabled={index === rules.length - 1}
                  label={t("Move rule {n} down", { n })}
                  onPress={() => move(index, 1)} />
                <Button
                  icon="trash"
                  kind="quiet"
                  isSmall
                  label={t("Remove rule {n}", { n })}
                  onPress={() => {
                    rows.remove(index);
                    set(rules.filter((_, place) => place !== index));
                  }} />
              </div>
              {isShown(rule, type) ?
                (
                  <RuleFields
                    rule={rule}
                    type={type}
                    variants={isRecord(flag.variants) ? Object.keys(flag.variants) : []}
                    names={namesOf("conditions")}
                    groups={namesOf("savedGroups")}
                    change={(next) => set(rules.map((one, place) => (place === index ? next : one)))} />
                ) :
                <NotShown value={rule} />}
            </li>
          );
        })}
      </ol>
      <div>
        <Button
          icon="plus"
          onPress={() =>
            set([
              ...rules,
              { value: type === "boolean" ? flag.default !== true : flag.default ?? initialValues[type] }
            ])}>
          {t("New rule")}
        </Button>
      </div>
    </Section>
  );
}

const answerTitles: Record<Answer, Text> = {
  value: "a value",
  variant: "a variant",
  split: "several, by share"
};

interface RuleProperties {
  rule: Members;
  change: (rule: Members) => void;
  type: FlagType;
  variants: string[];
}

function RuleFields(
  { rule, change, type, variants, names, groups }: RuleProperties & { names: string[]; groups: string[] }
) {
  const answer = answerOf(rule);
  const set = (name: string, value: unknown) => change(withMember(rule, name, value));
  const text = (name: string) => (own(rule, name) as string | undefined) ?? "";
  const kinds = answers.filter((one) => one !== "variant" || variants.length > 0 || answer === "variant");
  const setText = (name: string) => (value: string) => set(name, value || undefined);
  return (
    <div className="stack">
      <Conditions
        when={readWhen(own(rule, "when")) ?? { joined: "all", lines: [] }}
        change={(when) => set("when", writeWhen(when))}
        names={names}
        groups={groups} />
      <div className="pair">
        <Choice
          label={t("They get")}
          value={answer}
          change={(next) => change(withAnswer(rule, next, type, variants))}
          options={kinds.map((one) => ({ value: one, title: t(answerTitles[one]) }))} />
        {answer === "value" && (
          <Labelled
            label={t("Value")}
            control={(id) => (
              <TypedValue id={id} type={type} label="" value={rule.value} change={(value) => set("value", value)} />
            )} />
        )}
        {answer === "variant" && (
          <Choice
            label={t("Variant")}
            value={text("variant")}
            change={(variant) => set("variant", variant)}
            options={[...new Set([...variants, text("variant")])].map((one) => ({ value: one, title: one }))} />
        )}
        {answer !== "split" && (
          <NumberField
            label={t("Share in percent")}
            hint={t("The same users are always included; raising the share excludes nobody.")}
            value={own(rule, "percent") as number | undefined}
            change={(percent) => set("percent", percent)}
            least={0}
            most={100} />
        )}
      </div>
      {answer === "split" && <Split {...{ rule, change, type, variants }} />}
      <div className="pair">
        <TextField label={t("Description")} value={text("description")} change={setText("description")} isOptional />
        <TextField
          label={t("Id")}
          hint={t("Appears in responses.")}
          value={text("id")}
          change={setText("id")}
          isCode
          isOptional />
      </div>
      {(answer === "split" || own(rule, "percent") !== undefined || text("by") !== "" || text("seed") !== "") && (
        <div className="pair">
          <TextField
            label={t("Chosen by")}
            hint={t("The attribute that is hashed, such as userId. Default: id.")}
            value={text("by")}
            change={setText("by")}
            isCode
            isOptional />
          <TextField
            label={t("Seed")}
            hint={t("Flags with the same seed select the same users.")}
            value={text("seed")}
            change={setText("seed")}
            isCode
            isOptional />
        </div>
      )}
      <Check
        label={t("On")}
        value={rule.enabled !== false}
        change={(isOn) => set("enabled", isOn ? undefined : false)} />
    </div>
  );
}

/** The shares of a split. Whoever is in none goes on to the next rule. */
function Split({ rule, change, type, variants }: RuleProperties) {
  const shares = (rule.split ?? []) as Members[];
  const rows = useKeys(shares.length);
  const set = (split: Members[]) => change({ ...rule, split });
  const replace = (index: number, share: Members) => set(shares.map((one, place) => (place === index ? share : one)));
  const sum = Math.round(shares.reduce((total, share) => total + Number(share.percent), 0) * 1e6) / 1e6;
  return (
    <fieldset className="stack">
      <legend className="strong">{t("Shares")}</legend>
      {shares.map((share, index) => {
        const variant = own(share, "variant") as string | undefined;
        return (
          <div key={rows.keys[index]} className="toolbar" role="group" aria-label={t("Share {n}", { n: index + 1 })}>
            <span className="grow">
              {variant === undefined ?
                (
                  <TypedValue
                    type={type}
                    label={t("Value")}
                    value={share.value}
                    change={(value) => replace(index, { ...share, value })} />
                ) :
                (
                  <Select
                    label={t("Variant")}
                    value={variant}
                    change={(next) => replace(index, { ...share, variant: next })}
                    options={[...new Set([...variants, variant])].map((one) => ({ value: one, title: one }))} />
                )}
            </span>
            <span style={{ width: 80 }}>
              <NumberInput
                label={t("Share in percent")}
                value={Number(share.percent)}
                change={(percent) => replace(index, { ...share, percent: percent ?? 0 })}
                least={0}
                most={100}
                isRequired />
            </span>
            <span className="soft">%</span>
            <Button
              icon="trash"
              kind="quiet"
              isSmall
              isDisabled={shares.length <= 2}
              label={t("Remove share {n}", { n: index + 1 })}
              onPress={() => {
                rows.remove(index);
                set(shares.filter((_, place) => place !== index));
              }} />
          </div>
        );
      })}
      <div className="row">
        <Button
          icon="plus"
          isSmall
          onPress={() => set([...shares, newShare(variants, shares.map((one) => one.variant), initialValues[type])])}>
          {t("Add a share")}
        </Button>
        <span className="hint">
          {t("{n} % in total. All others continue with the next rule.", { n: number(sum) })}
        </span>
      </div>
      {sum > 100 && <Notice tone="bad">{t("The shares add up to more than 100 percent.")}</Notice>}
    </fieldset>
  );
}
