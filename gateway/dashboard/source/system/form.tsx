// Forms and their fields. Each field has its label above, and a hint or the server's error below. An error that belongs
// to no field is shown above the buttons.

import { ReactNode, useId, useRef, useState } from "react";
import { Problem } from "../api/problem";
import { t } from "../text";
import { Button, explain, Notice } from "./basics";

interface FieldProperties {
  label: string;
  hint?: ReactNode;
  error?: string;
  isOptional?: boolean;
}

/** A label above a field, and a hint or an error below it. */
export function Frame(
  { label, hint, error, isOptional, id, children }: FieldProperties & { id: string; children?: ReactNode }
) {
  return (
    <div className={"field" + (error ? " wrong" : "")}>
      <label htmlFor={id}>{label}{isOptional && <span className="faint">{" "}{t("optional")}</span>}</label>
      {children}
      {error ?
        <p className="error" id={id + "-note"} role="alert">{error}</p> :
        hint ?
        <p className="hint" id={id + "-note"}>{hint}</p> :
        null}
    </div>
  );
}

interface TextProperties extends FieldProperties {
  value: string;
  change: (value: string) => void;
  type?: "text" | "password" | "email" | "url" | "number" | "date" | "datetime-local" | "search" | "color";
  lines?: number;
  isCode?: boolean;
  autoFocus?: boolean;
  autoComplete?: string;
  placeholder?: string;
  isRequired?: boolean;
  isDisabled?: boolean;
  maximumLength?: number;
}

export function TextField(given: TextProperties) {
  const id = useId();
  const common = {
    id,
    value: given.value,
    placeholder: given.placeholder,
    autoFocus: given.autoFocus,
    required: given.isRequired,
    disabled: given.isDisabled,
    maxLength: given.maximumLength,
    autoComplete: given.autoComplete ?? "off",
    spellCheck: given.isCode ? false : undefined,
    className: given.isCode ? "code" : undefined,
    "aria-invalid": given.error ? true : undefined,
    "aria-describedby": given.error || given.hint ? id + "-note" : undefined
  };
  return (
    <Frame {...given} id={id}>
      {given.lines ?
        <textarea {...common} rows={given.lines} onChange={(event) => given.change(event.currentTarget.value)} /> :
        <input {...common} type={given.type ?? "text"} onChange={(event) => given.change(event.currentTarget.value)} />}
    </Frame>
  );
}

export function Choice<Value extends string>(
  given: FieldProperties & {
    value: Value;
    change: (value: Value) => void;
    options: { value: Value; title: string }[];
    isDisabled?: boolean;
  }
) {
  const id = useId();
  return (
    <Frame {...given} id={id}>
      <Select id={id} {...given} />
    </Frame>
  );
}

/** A select without a visible label, for toolbars. */
export function Select<Value extends string>(
  { id, value, change, options, label, isDisabled }: {
    id?: string;
    value: Value;
    change: (value: Value) => void;
    options: { value: Value; title: string }[];
    label?: string;
    isDisabled?: boolean;
  }
) {
  return (
    <span className="select">
      <select
        id={id}
        value={value}
        aria-label={id ? undefined : label}
        title={label}
        disabled={isDisabled}
        onChange={(event) => change(event.currentTarget.value as Value)}>
        {options.map((option) => <option key={option.value} value={option.value}>{option.title}</option>)}
      </select>
    </span>
  );
}

export function Check(
  { label, value, change, hint, isDisabled }: {
    label: ReactNode;
    value: boolean;
    change: (value: boolean) => void;
    hint?: string;
    isDisabled?: boolean;
  }
) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={value}
        disabled={isDisabled}
        onChange={(event) => change(event.currentTarget.checked)} />
      <span>{label}{hint && <span className="hint">{hint}</span>}</span>
    </label>
  );
}

/** The entries of a field that takes several, separated by spaces or lines. */
export const listOf = (text: string): string[] => text.split(/\s+/).filter(Boolean);

/** The error to show at a field: the problem's detail, if the problem names the field. */
export function errorOf(field: string, problem: unknown): string | undefined {
  if (!(problem instanceof Problem) || problem.field === undefined) return undefined;
  return problem.field === field || problem.field.startsWith(field + ".") ? problem.detail : undefined;
}

/** The first input whose text stands for no value, so that it would be lost; if `isSaving`, also a required one. */
export const wrongText = (element: HTMLElement | null, isSaving = false): HTMLInputElement | null =>
  element?.querySelector<HTMLInputElement>(
    'input[aria-invalid="true"]:invalid' + (isSaving ? ", input:required:invalid" : "")
  ) ?? null;

/** Whether there is such an input. The browser says at it what is wrong. */
export function hasWrongText(element: HTMLElement | null, isSaving = false): boolean {
  const input = wrongText(element, isSaving);
  // After the tab or the button that was pressed has taken the focus.
  setTimeout(() => input?.reportValidity());
  return Boolean(input);
}

/** Submits on Enter, and shows why the server refused. Errors of `fields` are shown at the fields only. */
export function Form(
  { send, action, children, cancel, fields = [], isDanger, isDisabled, isReadOnly, report, extra }: {
    send: () => Promise<unknown>;
    action: string;
    children?: ReactNode;
    cancel?: () => void;
    fields?: string[];
    isDanger?: boolean;
    isDisabled?: boolean;
    /** Shows the fields without the submit button. */
    isReadOnly?: boolean;
    report?: (problem: unknown) => void;
    extra?: ReactNode;
  }
) {
  const [problem, setProblem] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement | null>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    // A dialog may ask from within a form.
    event.stopPropagation();
    if (isBusy || isDisabled || isReadOnly) return;
    setBusy(true);
    setProblem(undefined);
    report?.(undefined);
    send()
      .catch((error) => {
        setProblem(error);
        report?.(error);
        form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus();
      })
      .finally(() => setBusy(false));
  };
  const isShownAtField = fields.some((field) => errorOf(field, problem) !== undefined);
  const words = problem === undefined ? undefined : explain(problem);
  return (
    <form ref={form} onSubmit={submit} noValidate={false}>
      {children}
      {words && !isShownAtField && (
        <Notice tone="bad">
          <strong>{words.title}.</strong> {words.detail}
        </Notice>
      )}
      <footer>
        {extra}
        {cancel && <Button onPress={cancel}>{t("Cancel")}</Button>}
        {!isReadOnly && (
          <Button type="submit" kind={isDanger ? "danger" : "primary"} isDisabled={isBusy || isDisabled}>
            {action}
          </Button>
        )}
      </footer>
    </form>
  );
}
