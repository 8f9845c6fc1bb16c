// Whom a rule of a flag applies to, or who takes part in an A/B test: a line for each test.

import { useId } from "react";
import { Button } from "../system/basics";
import { Choice, Select } from "../system/form";
import { t } from "../text";
import {
  asItIs,
  comparisons,
  Line,
  operandFor,
  Operator,
  operatorsFor,
  readList,
  readScalar,
  Scalar,
  Test,
  When,
  writeList,
  writeScalar
} from "./flagRules";
import { useKeys, ValueInput } from "./TypedInputs";

/** What the server sets, and what MartletKit sends. */
const attributes = [
  "platform",
  "appVersion",
  "osVersion",
  "language",
  "country",
  "id",
  "userId",
  "user.id",
  "user.roles",
  "user.profile.",
  "user.emailVerified",
  "user.anonymous",
  "deviceId",
  "now"
];

export function Conditions(
  { when, change, names, groups }: {
    when: When;
    change: (when: When) => void;
    /** Of the document's conditions and groups. */
    names: string[];
    groups: string[];
  }
) {
  const { joined, lines } = when;
  const list = useId();
  const { keys, remove } = useKeys(lines.length);
  const set = (index: number, line: Line) =>
    change({ joined, lines: lines.map((one, place) => (place === index ? line : one)) });
  const add = (line: Line) => change({ joined, lines: [...lines, line] });
  return (
    <fieldset className="stack">
      <legend className="strong">{t("Who")}</legend>
      <datalist id={list}>
        {attributes.map((one) => <option key={one} value={one} />)}
      </datalist>
      {lines.length === 0 && <p className="faint">{t("Everybody.")}</p>}
      {lines.length > 1 && (
        <Choice
          label={t("Of these conditions")}
          value={joined}
          change={(next) => change({ joined: next, lines })}
          options={[{ value: "all", title: t("all must hold") }, { value: "any", title: t("one is enough") }]} />
      )}
      {lines.map((line, index) => (
        <div key={keys[index]} className="toolbar" role="group" aria-label={t("Condition {n}", { n: index + 1 })}>
          {"name" in line ?
            (
              <>
                <span className="soft">{t("Condition")}</span>
                <Select
                  label={t("Name of the condition")}
                  value={line.name}
                  change={(name) => set(index, { name })}
                  options={[...new Set([...names, line.name])].map((one) => ({ value: one, title: one }))} />
                <span className="soft">{t("holds")}</span>
              </>
            ) :
            <TestFields test={line} change={(next) => set(index, next)} groups={groups} list={list} />}
          <Button
            icon="trash"
            kind="quiet"
            isSmall
            label={t("Remove this condition")}
            onPress={() => {
              remove(index);
              change({ joined, lines: lines.filter((_, place) => place !== index) });
            }} />
        </div>
      ))}
      <div className="row">
        <Button icon="plus" isSmall onPress={() => add({ attribute: "", operator: "is", operand: "" })}>
          {t("Add a condition")}
        </Button>
        {names[0] !== undefined && (
          <Button icon="plus" isSmall onPress={() => add({ name: names[0] ?? "" })}>
            {t("Add a named condition")}
          </Button>
        )}
      </div>
    </fieldset>
  );
}

function TestFields(
  { test, change, groups, list }: { test: Test; change: (test: Test) => void; groups: string[]; list: string }
) {
  const { attribute, operator, operand } = test;
  const operators = [...new Set([...operatorsFor(attribute, groups.length > 0), operator])];
  return (
    <>
      <span className="grow">
        <input
          className="code"
          value={attribute}
          list={list}
          required
          autoComplete="off"
          spellCheck={false}
          placeholder={t("Attribute")}
          aria-label={t("Attribute")}
          onChange={(event) => {
            // Names with a dollar sign are operators.
            const attribute = event.currentTarget.value.replace(/^\$+/, "");
            change({ ...test, attribute });
          }} />
      </span>
      <Select<Operator>
        label={t("Comparison")}
        value={operator}
        change={(next) => change({ attribute, operator: next, operand: operandFor(next, operand, groups) })}
        options={operators.map((one) => ({ value: one, title: t(comparisons[one].title) }))} />
      <Operand test={test} change={(next) => change({ ...test, operand: next })} groups={groups} />
    </>
  );
}

function Operand(
  { test, change, groups }: { test: Test; change: (operand: unknown) => void; groups: string[] }
) {
  const { operand } = test;
  const label = t("Value");
  switch (comparisons[test.operator].operand) {
    case "none":
      return null;
    case "group":
      return (
        <Select
          label={label}
          value={String(operand)}
          change={change}
          options={[...new Set([...groups, String(operand)])].map((one) => ({ value: one, title: one }))} />
      );
    case "list":
      return (
        <span className="grow">
          <ValueInput<Scalar[]>
            label={label}
            value={operand as Scalar[]}
            change={change}
            read={readList}
            write={writeList}
            placeholder="CH, AT, DE"
            isRequired />
        </span>
      );
    case "text":
      return (
        <span className="grow">
          <ValueInput<string> {...{ label, change }} value={String(operand)} read={asItIs} write={asItIs} isRequired />
        </span>
      );
    case "time":
      return (
        <span className="grow">
          <ValueInput<Scalar>
            {...{ label, change }}
            value={operand as Scalar}
            read={readScalar}
            write={writeScalar}
            placeholder="2026-12-24T18:00:00Z"
            isRequired />
        </span>
      );
    default:
      return (
        <span className="grow">
          <ValueInput<Scalar>
            {...{ label, change }}
            value={operand as Scalar}
            read={readScalar}
            write={writeScalar} />
        </span>
      );
  }
}
