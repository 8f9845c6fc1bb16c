// Inputs for values of a document: what is typed is text, what is stored is a number, a list or JSON.

import { ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button, Notice } from "../system/basics";
import { errorOf, Frame, Select } from "../system/form";
import { JSONView } from "../system/json";
import { t } from "../text";
import {
  asItIs,
  FlagType,
  Members,
  percentOf,
  readNumber,
  readStrict,
  shareOf,
  withMember,
  without,
  writeStrict
} from "./flagRules";

/**
 * Keys for the rows of a list that is made anew with each change. A key stays with its row when others are removed or
 * rows are moved, and so does a text that stands for no value.
 */
export function useKeys(count: number) {
  const next = useRef(0);
  const { current: keys } = useRef<number[]>([]);
  while (keys.length < count) keys.push(next.current++);
  keys.length = count;
  return {
    keys,
    /** Call it with the change that removes the row. */
    remove: (index: number) => void keys.splice(index, 1),
    move: (index: number, step: number) => void keys.splice(index + step, 0, ...keys.splice(index, 1))
  };
}

/**
 * An input whose text stands for a value. While `read` returns undefined, the text stands for none: it is marked as
 * wrong, and the former value stays.
 */
export function ValueInput<Value>(
  { id, label, value, change, read, write, problem, isRequired, isCode, placeholder, words }: {
    /** Of an input with a visible label, below which there is room to say what is wrong. */
    id?: string;
    label: string;
    value: Value;
    change: (value: Value) => void;
    read: (text: string) => Value | undefined;
    write: (value: Value) => string;
    /** Why a text stands for no value. */
    problem?: string;
    isRequired?: boolean;
    isCode?: boolean;
    placeholder?: string;
    /** Suggestions. */
    words?: string[];
  }
) {
  // The text as it was typed: `1.0` must not become `1` before `1.05` is complete.
  const [typed, setTyped] = useState({ text: write(value), value });
  const isTyped = JSON.stringify(typed.value) === JSON.stringify(value);
  const text = isTyped ? typed.text : write(value);
  const isWrong = read(text) === undefined;
  const input = useRef<HTMLInputElement | null>(null);
  const list = useId();
  const note = isWrong ? problem ?? t("This is not JSON.") : "";
  useEffect(() => input.current?.setCustomValidity(note), [note]);
  return (
    <>
      <input
        ref={input}
        id={id}
        className={isCode ? "code" : undefined}
        value={text}
        aria-label={id ? undefined : label}
        aria-invalid={isWrong ? true : undefined}
        aria-describedby={isWrong && id ? id + "-wrong" : undefined}
        required={isRequired}
        placeholder={placeholder}
        list={words ? list : undefined}
        autoComplete="off"
        spellCheck={isCode ? false : undefined}
        onChange={(event) => {
          const next = event.currentTarget.value;
          const found = read(next);
          setTyped({ text: next, value: found === undefined ? value : found });
          if (found !== undefined) change(found);
        }} />
      {isWrong && id && <p className="error" id={id + "-wrong"}>{note}</p>}
      {words && (
        <datalist id={list}>
          {words.map((word) => <option key={word} value={word} />)}
        </datalist>
      )}
    </>
  );
}

/** The value of a flag, in the input that its type asks for. */
export function TypedValue(
  { id, type, label, value, change }: {
    id?: string;
    type: FlagType;
    label: string;
    value: unknown;
    change: (value: unknown) => void;
  }
) {
  switch (type) {
    case "boolean":
      return (
        <Select
          id={id}
          label={label}
          value={String(value)}
          change={(next) => change(next === "true")}
          options={["true", "false"].map((one) => ({ value: one, title: one }))} />
      );
    case "number":
      return (
        <ValueInput<unknown>
          {...{ id, label, value, change }}
          read={(text) => readNumber(text)}
          write={String}
          problem={t("This is not a number.")}
          isRequired />
      );
    case "string":
      return <ValueInput<unknown> {...{ id, label, value, change }} read={asItIs} write={String} />;
    default:
      return <ValueInput<unknown> {...{ id, label, value, change }} read={readStrict} write={writeStrict} isCode />;
  }
}

/** A field with a visible label around an input of this file. */
export function Labelled(
  { label, hint, error, isOptional, control }: {
    label: string;
    hint?: ReactNode;
    /** The server's. */
    error?: string;
    isOptional?: boolean;
    control: (id: string) => ReactNode;
  }
) {
  const id = useId();
  return <Frame {...{ label, hint, error, isOptional, id }}>{control(id)}</Frame>;
}

interface NumberProperties {
  value: number | undefined;
  change: (value: number | undefined) => void;
  least: number;
  most: number;
  /** What holds if there is none. */
  usual?: number;
  /** A part of 1 that is shown in percent. */
  isShare?: boolean;
  isWhole?: boolean;
  isRequired?: boolean;
}

/** A number between two others, or none. */
export function NumberInput(
  { id, label = "", value, change, least, most, usual, isShare, isWhole, isRequired }: NumberProperties & {
    id?: string;
    label?: string;
  }
) {
  const shown = (number: number) => (isShare ? percentOf(number) : number);
  const [from, to] = [shown(least), shown(most)];
  const read = (text: string) => {
    if (text.trim() === "" && !isRequired) return null;
    const number = readNumber(text);
    const isInside = number !== undefined && number >= from && number <= to;
    return isInside && (!isWhole || Number.isInteger(number)) ? number : undefined;
  };
  return (
    <ValueInput<number | null>
      id={id}
      label={label}
      value={value === undefined ? null : shown(value)}
      change={(next) => change(next === null ? undefined : isShare ? shareOf(next) : next)}
      read={read}
      write={(next) => (next === null ? "" : String(next))}
      problem={isWhole ?
        t("This is not a whole number from {from} to {to}.", { from, to }) :
        t("This is not a number from {from} to {to}.", { from, to })}
      placeholder={usual === undefined ? undefined : String(shown(usual))}
      isRequired={isRequired} />
  );
}

export function NumberField({ label, hint, ...number }: NumberProperties & { label: string; hint?: ReactNode }) {
  return (
    <Labelled
      label={label}
      hint={hint}
      isOptional={!number.isRequired}
      control={(id) => <NumberInput id={id} {...number} />} />
  );
}

/** A name to add to a list; Enter adds it, too. */
export function AddName(
  { label, taken, words, add }: { label: string; taken: string[]; words?: string[]; add: (name: string) => void }
) {
  const [name, setName] = useState("");
  const list = useId();
  const isUsable = name.trim() !== "" && !taken.includes(name.trim());
  const send = () => {
    if (!isUsable) return;
    add(name.trim());
    setName("");
  };
  return (
    <div className="toolbar adder">
      <span className="grow">
        <input
          value={name}
          placeholder={label}
          aria-label={label}
          list={words ? list : undefined}
          autoComplete="off"
          onChange={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            send();
          }} />
      </span>
      {words && (
        <datalist id={list}>
          {words.filter((word) => !taken.includes(word)).map((word) => <option key={word} value={word} />)}
        </datalist>
      )}
      <Button icon="plus" isSmall isDisabled={!isUsable} onPress={send}>{t("Add")}</Button>
    </div>
  );
}

interface NamedProperties {
  members: Members;
  change: (members: Members) => void;
  /** The input of one. */
  show: (name: string, value: unknown, set: (value: unknown) => void) => ReactNode;
  /** Of the input for the name of a new one. */
  label: string;
  /** Suggestions for it. */
  words?: string[];
  /** The value of a new one. */
  start: (name: string) => unknown;
}

/** Members by name, each in a card. */
export function NamedCards({ members, change, show, ...added }: NamedProperties) {
  return (
    <>
      {Object.entries(members).map(([name, value]) => (
        <div key={name} className="card stack" role="group" aria-label={name}>
          <div className="row">
            <code className="strong">{name}</code>
            <RemoveMember {...{ name, members, change }} />
          </div>
          {show(name, value, (next) => change(withMember(members, name, next)))}
        </div>
      ))}
      <AddMember {...{ members, change, ...added }} />
    </>
  );
}

/** Members by name, each in a line. */
export function NamedLines({ legend, members, change, show, ...added }: NamedProperties & { legend: string }) {
  return (
    <fieldset className="stack">
      <legend className="strong">{legend}</legend>
      {Object.entries(members).map(([name, value]) => (
        <div key={name} className="toolbar">
          <code>{name}</code>
          <span className="grow">{show(name, value, (next) => change(withMember(members, name, next)))}</span>
          <RemoveMember {...{ name, members, change }} />
        </div>
      ))}
      <AddMember {...{ members, change, ...added }} />
    </fieldset>
  );
}

function RemoveMember({ name, members, change }: Pick<NamedProperties, "members" | "change"> & { name: string }) {
  return (
    <Button
      icon="trash"
      kind="quiet"
      isSmall
      label={t("Remove {name}", { name })}
      onPress={() => change(without(members, [name]))} />
  );
}

function AddMember({ members, change, label, words, start }: Omit<NamedProperties, "show">) {
  return (
    <AddName
      label={label}
      taken={Object.keys(members)}
      words={words}
      add={(name) => change({ ...members, [name]: start(name) })} />
  );
}

/** A part of a document with something that its form does not know. */
export function NotShown({ value }: { value: unknown }) {
  return (
    <>
      <Notice>{t("The form cannot show this, so it leaves it as it is. Edit it as JSON.")}</Notice>
      <JSONView value={value} />
    </>
  );
}

const readNames = (text: string): string[] => text.split(",").map((name) => name.trim()).filter(Boolean);
const writeNames = (names: string[]): string => names.join(", ");

/** Whether a field shows the texts as they are. */
const areNames = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.every((one) => typeof one === "string" && one !== "" && one === one.trim() && !/[,\n]/.test(one));

/** Texts with commas between them; none is no value. */
export function NamesField(
  { label, hint, value, change, placeholder, error }: {
    label: string;
    hint?: string;
    value: unknown;
    change: (names: string[] | undefined) => void;
    placeholder?: string;
    error?: string;
  }
) {
  const names = value ?? [];
  return areNames(names) ?
    (
      <Labelled
        {...{ label, hint, error }}
        isOptional
        control={(id) => (
          <ValueInput<string[]>
            id={id}
            label={label}
            value={names}
            change={(next) => change(next.length > 0 ? next : undefined)}
            read={readNames}
            write={writeNames}
            placeholder={placeholder}
            isCode />
        )} />
    ) :
    (
      <div>
        <p className="strong">{label}</p>
        <NotShown value={value} />
        {error && <Notice tone="bad">{error}</Notice>}
      </div>
    );
}

/** The server's error, if it names one of the fields and none of those that show it themselves. */
export function Wrong({ problem, of, except = [] }: { problem: unknown; of: string[]; except?: string[] }) {
  const detail = of.map((field) => errorOf(field, problem)).find((one) => one !== undefined);
  const isShown = except.some((field) => errorOf(field, problem) !== undefined);
  return detail === undefined || isShown ? null : <Notice tone="bad">{detail}</Notice>;
}
