// A condition, such as whom a rule of a flag applies to: a line for each test. Lines may be nested.

import { useId } from "react";
import { Button } from "../system/basics";
import { Choice, Select } from "../system/form";
import { t, Text } from "../text";
import {
  asItIs,
  comparisons,
  flagGrammar,
  Grammar,
  isGroup,
  Joined,
  Line,
  mostDepth,
  operandFor,
  Operator,
  operatorsFor,
  readList,
  readListOrVariable,
  readScalar,
  Scalar,
  Test,
  When,
  writeList,
  writeListOrVariable,
  writeScalar
} from "./flagRules";
import { useKeys, ValueInput } from "./TypedInputs";

const joins: { value: Joined; title: Text }[] = [
  { value: "all", title: "all must hold" },
  { value: "any", title: "one is enough" },
  { value: "none", title: "none may hold" },
  { value: "notAll", title: "not all may hold" }
];

/** What lines may refer to. */
interface Known {
  /** Of the document's conditions and groups. */
  names: string[];
  groups: string[];
  grammar: Grammar;
  /** The id of the list of attributes. */
  list: string;
}

export function Conditions(
  { when, change, names = [], groups = [], grammar = flagGrammar, attributes = [], title, empty }:
    & Partial<Omit<Known, "list">>
    & {
      when: When;
      change: (when: When) => void;
      /** More names to suggest. */
      attributes?: string[];
      /** What the condition is about. */
      title?: string;
      /** What holds without lines. */
      empty?: string;
    }
) {
  const list = useId();
  return (
    <fieldset className="stack">
      <legend className="strong">{title ?? t("Who")}</legend>
      <datalist id={list}>
        {[...new Set([...attributes, ...grammar.attributes])].map((one) => <option key={one} value={one} />)}
      </datalist>
      {when.lines.length === 0 && <p className="faint">{empty ?? t("Everybody.")}</p>}
      <Lines when={when} change={change} depth={1} number="" known={{ names, groups, grammar, list }} />
    </fieldset>
  );
}

const blank: Test = { attribute: "", operator: "is", operand: "" };

function Lines(
  { when, change, depth, number, known }: {
    when: When;
    change: (when: When) => void;
    depth: number;
    /** Of the line that has these lines, with a point; empty for the outermost. */
    number: string;
    known: Known;
  }
) {
  const { joined, lines } = when;
  const { names, grammar } = known;
  const { keys, remove } = useKeys(lines.length);
  const set = (index: number, line: Line) =>
    change({ joined, lines: lines.map((one, place) => (place === index ? line : one)) });
  const add = (line: Line) => change({ joined, lines: [...lines, line] });
  const drop = (index: number) => {
    remove(index);
    change({ joined, lines: lines.filter((_, place) => place !== index) });
  };
  const isShort = lines.length < 2 && depth === 1 && (joined === "all" || joined === "any");
  return (
    <>
      {!isShort && (
        <Choice
          label={t("Of these conditions")}
          value={joined}
          change={(next) => change({ joined: next, lines })}
          options={joins.filter(({ value }) => grammar.joins.includes(value)).map(({ value, title }) => ({
            value,
            title: t(title)
          }))} />
      )}
      {lines.map((line, index) => {
        const n = number + (index + 1);
        return isGroup(line) ?
          (
            <div key={keys[index]} className="nested stack" role="group" aria-label={t("Conditions {n}", { n })}>
              <Lines
                when={line}
                change={(next) => (next.lines.length > 0 ? set(index, next) : drop(index))}
                depth={depth + 1}
                number={n + "."}
                known={known} />
            </div>
          ) :
          (
            <div key={keys[index]} className="toolbar" role="group" aria-label={t("Condition {n}", { n })}>
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
                <TestFields test={line} change={(next) => set(index, next)} {...known} />}
              <Button
                icon="trash"
                kind="quiet"
                isSmall
                label={t("Remove this condition")}
                onPress={() => drop(index)} />
            </div>
          );
      })}
      <div className="row">
        <Button icon="plus" isSmall onPress={() => add(blank)}>{t("Add a condition")}</Button>
        {names[0] !== undefined && (
          <Button icon="plus" isSmall onPress={() => add({ name: names[0] ?? "" })}>
            {t("Add a named condition")}
          </Button>
        )}
        {lines.length > 0 && depth < mostDepth && (
          <Button
            icon="plus"
            isSmall
            onPress={() => add({ joined: joined === "any" ? "all" : "any", lines: [blank] })}>
            {t("Add nested conditions")}
          </Button>
        )}
      </div>
    </>
  );
}

function TestFields(
  { test, change, groups, grammar, list }: Omit<Known, "names"> & { test: Test; change: (test: Test) => void }
) {
  const { attribute, operator, operand } = test;
  const { hasVariables } = grammar;
  const operators = [...new Set([...operatorsFor(attribute, groups.length > 0, grammar), operator])];
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
            const typed = event.currentTarget.value;
            // Where there are no variables, names with a dollar sign are operators.
            change({ ...test, attribute: hasVariables ? typed : typed.replace(/^\$+/, "") });
          }} />
      </span>
      <Select<Operator>
        label={t("Comparison")}
        value={operator}
        change={(next) =>
          change({ attribute, operator: next, operand: operandFor(next, operand, groups, hasVariables) })}
        options={operators.map((one) => ({ value: one, title: t(comparisons[one].title) }))} />
      <Operand {...{ test, groups, hasVariables }} change={(next) => change({ ...test, operand: next })} />
    </>
  );
}

function Operand(
  { test, change, groups, hasVariables }: {
    test: Test;
    change: (operand: unknown) => void;
    groups: string[];
    hasVariables: boolean;
  }
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
          <ValueInput<Scalar[] | string>
            label={label}
            value={operand as Scalar[] | string}
            change={change}
            read={hasVariables ? readListOrVariable : readList}
            write={hasVariables ? writeListOrVariable : (value) => writeList(value as Scalar[])}
            placeholder={hasVariables ? "$user.roles" : "CH, AT, DE"}
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
