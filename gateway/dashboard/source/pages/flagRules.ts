// The part of flags, rules and conditions that the forms show. What has anything else in it stays JSON: see
// docs/how-to/flags-and-parameters.md for the whole grammar. Audiences and push rules have conditions of the same grammar;
// those of a collection's rules are filters.

import { own } from "../system/own";

export type FlagType = "boolean" | "number" | "string" | "json";
export type Members = Record<string, unknown>;

export interface Flag extends Members {
  type?: string;
  default?: unknown;
  description?: string;
  enabled?: boolean;
  localEvaluation?: boolean;
  rules?: unknown[];
}

export const isRecord = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The same members with another value for `name`, in their order; without it for undefined. */
export function withMember<Kind extends Members>(members: Kind, name: string, value: unknown): Kind {
  return value === undefined ? without(members, [name]) as Kind : { ...members, [name]: value };
}

export function without(members: Members, names: string[]): Members {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

export const isText = (value: unknown) => typeof value === "string";
export const isNumber = (value: unknown) => typeof value === "number";
/** Whether each of the members is missing or passes the test. */
export const pass = (members: Members, names: string[], test: (value: unknown) => boolean): boolean =>
  names.every((name) => own(members, name) === undefined || test(members[name]));
export const onlyHas = (members: Members, known: string[]) => Object.keys(members).every((name) => known.includes(name));

// Values

export const typeOf = (flag: Flag): FlagType =>
  (["boolean", "number", "string", "json"] as const).find((one) => one === flag.type) ?? "json";

/** The default of a new flag of each type. */
export const initialValues = { boolean: false, string: "", number: 0, json: {} } as const;

export const fits = (type: FlagType, value: unknown): boolean =>
  type === "json" ? value !== null && value !== undefined : typeof value === type;

export const asItIs = (text: string) => text;

export function readNumber(text: string): number | undefined {
  const number = Number(text.trim().replace(",", "."));
  return text.trim() === "" || !Number.isFinite(number) ? undefined : number;
}

/** Shares are stored as parts of 1, and typed in percent with at most four digits after the point. */
export const percentOf = (share: number): number => Math.round(share * 1e6) / 1e4;
export const shareOf = (percent: number): number => Math.round(percent * 1e4) / 1e6;

export function readStrict(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value === null ? undefined : value;
  } catch {
    return undefined;
  }
}

export const writeStrict = (value: unknown): string => JSON.stringify(value) ?? "";

export type Scalar = string | number | boolean;
export const isScalar = (value: unknown): value is Scalar => ["string", "number", "boolean"].includes(typeof value);

/** Numbers, true, false and texts in quotes are read as such; everything else is a text. */
export function readScalar(text: string): Scalar {
  const value = readStrict(text);
  return isScalar(value) ? value : text;
}

export const writeScalar = (value: Scalar): string =>
  typeof value === "string" && readScalar(value) !== value ? JSON.stringify(value) : String(value);

export function readList(text: string): Scalar[] {
  const parts = text.match(/\s*"(?:[^"\\]|\\.)*"\s*(?=,|$)|[^,]+/g) ?? [];
  return parts.map((part) => part.trim()).filter(Boolean).map(readScalar);
}

export const writeList = (values: Scalar[]): string =>
  values.map((value) => {
    const isPlain = typeof value !== "string" || (value !== "" && value === value.trim() && !/[,"]/.test(value));
    return isPlain ? writeScalar(value) : JSON.stringify(value);
  }).join(", ");

// Conditions

type Operand = "value" | "list" | "text" | "group" | "time" | "none";

export const comparisons = {
  is: { title: "is", operand: "value" },
  $ne: { title: "is not", operand: "value" },
  $in: { title: "is one of", operand: "list" },
  $nin: { title: "is none of", operand: "list" },
  $ini: { title: "is one of, ignoring case", operand: "list" },
  $nini: { title: "is none of, ignoring case", operand: "list" },
  $inGroup: { title: "is in the group", operand: "group" },
  $notInGroup: { title: "is not in the group", operand: "group" },
  $lt: { title: "is less than", operand: "value" },
  $lte: { title: "is at most", operand: "value" },
  $gt: { title: "is greater than", operand: "value" },
  $gte: { title: "is at least", operand: "value" },
  $veq: { title: "is version", operand: "text" },
  $vne: { title: "is not version", operand: "text" },
  $vlt: { title: "is before version", operand: "text" },
  $vlte: { title: "is at most version", operand: "text" },
  $vgt: { title: "is after version", operand: "text" },
  $vgte: { title: "is at least version", operand: "text" },
  $regex: { title: "matches the pattern", operand: "text" },
  $regexi: { title: "matches the pattern, ignoring case", operand: "text" },
  $after: { title: "is not before the time", operand: "time" },
  $before: { title: "is before the time", operand: "time" },
  exists: { title: "is there", operand: "none" },
  missing: { title: "is not there", operand: "none" },
  $eq: { title: "is exactly", operand: "value" }
} as const;

export type Operator = keyof typeof comparisons;

export interface Test {
  attribute: string;
  operator: Operator;
  operand: unknown;
}

/** One line of a condition: a test of an attribute, the name of a condition of the document, or lines in a group. */
export type Line = Test | { name: string } | When;

export type Joined = "all" | "any" | "none" | "notAll";

/** Whom a rule applies to. Without lines, everybody. */
export interface When {
  joined: Joined;
  lines: Line[];
}

export const isGroup = (line: Line): line is When => "lines" in line;

/** What conditions of one kind may say. */
export interface Grammar {
  /** Names to suggest. */
  attributes: string[];
  /** Attributes with a list as their value. It is compared by its elements. */
  lists: string[];
  operators: Operator[];
  joins: Joined[];
  /** Whether names and values may be variables, which begin with a dollar sign. */
  hasVariables: boolean;
}

export const flagGrammar: Grammar = {
  // What the server sets, and what MartletKit sends.
  attributes: [
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
  ],
  lists: ["user.roles"],
  operators: Object.keys(comparisons) as Operator[],
  joins: ["all", "any", "none", "notAll"],
  hasVariables: false
};

/** A variable in place of a list, such as `$user.roles`. */
const isVariable = (value: unknown): value is string => typeof value === "string" && /^\$user\.[^\s,"]*$/.test(value);

/** A list, or a variable in its place. A list of one text that looks like a variable has quotes. */
export const readListOrVariable = (text: string): Scalar[] | string =>
  isVariable(text.trim()) ? text.trim() : readList(text);
export const writeListOrVariable = (value: Scalar[] | string): string =>
  typeof value === "string" ?
    value :
    value.length === 1 && isVariable(value[0]) ?
    JSON.stringify(value[0]) :
    writeList(value);

/** How deep groups may be within each other, the outermost lines included. */
export const mostDepth = 4;

const depthOf = ({ lines }: When): number => 1 + Math.max(0, ...lines.filter(isGroup).map(depthOf));

/** What a condition says; null if it says something that the form does not show. */
export function readWhen(when: unknown, { hasVariables } = flagGrammar): When | null {
  if (when === undefined) return { joined: "all", lines: [] };
  if (typeof when === "string") return { joined: "all", lines: [{ name: when }] };
  if (Array.isArray(when)) {
    return when.every(isText) ? { joined: "all", lines: when.map((name) => ({ name: String(name) })) } : null;
  }
  const lines = linesOf(when, 1, hasVariables);
  if (!lines) return null;
  const [first] = lines;
  const found: When = lines.length === 1 && first && isGroup(first) ? first : { joined: "all", lines };
  return depthOf(found) > mostDepth ? null : found;
}

/** What a condition says that cannot name others of the document; null if the form does not show it. */
export function readPlain(condition: unknown, grammar = flagGrammar): When | null {
  if (condition !== undefined && !isRecord(condition)) return null;
  const when = readWhen(condition, grammar);
  return when && isOf(grammar, when) ? when : null;
}

const isOf = (grammar: Grammar, { joined, lines }: When): boolean =>
  grammar.joins.includes(joined) && lines.every((line) =>
    isGroup(line) ? isOf(grammar, line) : "operator" in line && grammar.operators.includes(line.operator)
  );

/** Lines that must all hold. */
function linesOf(condition: unknown, level: number, hasVariables: boolean): Line[] | null {
  if (!isRecord(condition)) return null;
  return concatenated(
    Object.entries(condition).map(([name, value]): Line[] | null => {
      const isTest = hasVariables ? !isJoin(name, value) : !name.startsWith("$");
      if (isTest) return testsOf(name, value, hasVariables);
      if (name === "$condition") return typeof value === "string" ? [{ name: value }] : null;
      const group = groupOf(name, value, level + 1, hasVariables);
      return group && [group];
    })
  );
}

const joinedBy: Record<string, Joined> = { $and: "all", $or: "any", $nor: "none", $not: "notAll" };

/** Whether the member joins conditions. Where there are variables, all others test one, even while its name is typed. */
const isJoin = (name: string, value: unknown): boolean =>
  own(joinedBy, name) !== undefined && (name === "$not" ? isRecord(value) : Array.isArray(value));

function groupOf(operator: string, value: unknown, level: number, hasVariables: boolean): When | null {
  const joined = own(joinedBy, operator);
  // A group is at most two levels of the condition: `$not` with `$and` in it. One more may be around all of it.
  if (!joined || level > 2 * mostDepth + 1) return null;
  if (joined === "notAll") {
    const lines = linesOf(value, level, hasVariables);
    const [first] = lines ?? [];
    const isOne = lines?.length === 1 && first && isGroup(first) && first.joined === "all";
    return lines && lines.length > 0 ? { joined, lines: isOne ? first.lines : lines } : null;
  }
  if (!Array.isArray(value) || value.length === 0) return null;
  const lines = concatenated(
    value.map((one): Line[] | null => {
      const parts = linesOf(one, level, hasVariables);
      if (!parts || parts.length === 0) return null;
      return joined === "all" || parts.length === 1 ? parts : [{ joined: "all", lines: parts }];
    })
  );
  return lines && { joined, lines };
}

const concatenated = (parts: (Line[] | null)[]): Line[] | null =>
  parts.some((part) => part === null) ? null : parts.flatMap((part) => part ?? []);

function testsOf(attribute: string, value: unknown, hasVariables: boolean): Test[] | null {
  if (isScalar(value)) return [{ attribute, operator: "is", operand: value }];
  if (!isRecord(value) || Object.keys(value).length === 0) return null;
  const tests: Test[] = [];
  for (const [name, operand] of Object.entries(value)) {
    if (name === "$exists" && typeof operand === "boolean") {
      tests.push({ attribute, operator: operand ? "exists" : "missing", operand: undefined });
      continue;
    }
    const operator = name.startsWith("$") && own(comparisons, name) ? name as Operator : undefined;
    if (!operator) return null;
    const kind = comparisons[operator].operand;
    if (!isOperand(kind, operand) && !(hasVariables && kind === "list" && isVariable(operand))) return null;
    tests.push({ attribute, operator, operand });
  }
  return tests;
}

function isOperand(kind: Operand, value: unknown): boolean {
  switch (kind) {
    case "value":
      return isScalar(value);
    case "list":
      return Array.isArray(value) && value.every(isScalar);
    case "time":
      return isText(value) || isNumber(value);
    case "text":
    case "group":
      return isText(value);
    default:
      return false;
  }
}

/** The condition, in the shortest form that keeps the order of its lines. */
export function writeWhen(when: When): unknown {
  const { joined, lines } = when;
  if (lines.length === 0) return undefined;
  if (joined !== "all") return Object.fromEntries([memberOf(when)]);
  const names = lines.flatMap((line) => "name" in line ? [line.name] : []);
  if (names.length === lines.length) return names.length === 1 ? names[0] : names;
  return conditionOf(lines);
}

/** The condition that all lines must fulfil. */
const conditionOf = (lines: Line[]): Members => merged(lines) ?? { $and: lines.map(single) };

const single = (line: Line): Members => Object.fromEntries([memberOf(line)]);

/** One of several conditions of which not all must hold. */
const alternative = (line: Line): Members =>
  (isGroup(line) && line.joined === "all" && line.lines.length > 1 && merged(line.lines)) || single(line);

function memberOf(line: Line): [string, unknown] {
  if ("name" in line) return ["$condition", line.name];
  if (!isGroup(line)) return [line.attribute, testOf(line)];
  switch (line.joined) {
    case "all":
      return ["$and", line.lines.map(single)];
    case "any":
      return ["$or", line.lines.map(alternative)];
    case "none":
      return ["$nor", line.lines.map(alternative)];
    case "notAll":
      return ["$not", conditionOf(line.lines)];
  }
}

function testOf({ operator, operand }: Test): unknown {
  switch (operator) {
    case "is":
      return operand;
    case "exists":
    case "missing":
      return { $exists: operator === "exists" };
    default:
      return { [operator]: operand };
  }
}

/** All lines as members of one object; undefined if two are in each other's way, or would change places. */
function merged(lines: Line[]): Members | undefined {
  const members: [string, unknown][] = [];
  for (const line of lines) {
    const [name, test] = memberOf(line);
    const last = members[members.length - 1];
    // Objects list members whose names are numbers first.
    if (/^\d+$/.test(name) && lines.length > 1) return undefined;
    if (!members.some(([other]) => other === name)) members.push([name, test]);
    else if (last?.[0] === name && !isGroup(line) && isRecord(last[1]) && isRecord(test) && isFree(last[1], test)) {
      last[1] = { ...last[1], ...test };
    } else return undefined;
  }
  return Object.fromEntries(members);
}

const isFree = (members: Members, added: Members) =>
  Object.keys(added).every((name) => own(members, name) === undefined);

/** Comparisons that make sense for an attribute. */
export function operatorsFor(attribute: string, hasGroups: boolean, grammar: Grammar): Operator[] {
  const all = grammar.operators.filter((one) => hasGroups || comparisons[one].operand !== "group");
  const times = all.filter((one) => comparisons[one].operand === "time");
  if (attribute === "now" && times.length > 0) return times;
  if (!grammar.lists.includes(attribute)) return all;
  return all.filter((one) => ["list", "group", "none"].includes(comparisons[one].operand));
}

/** The operand for another comparison, as much of it as fits. */
export function operandFor(operator: Operator, former: unknown, groups: string[], hasVariables: boolean): unknown {
  const { operand } = comparisons[operator];
  if (hasVariables && operand === "list" && isVariable(former)) return former;
  if (isOperand(operand, former) && (operand !== "group" || groups.includes(String(former)))) return former;
  const first = Array.isArray(former) ? former[0] : former;
  switch (operand) {
    case "value":
      return isScalar(first) ? first : "";
    case "list":
      return isScalar(first) && first !== "" ? [first] : [];
    case "group":
      return groups[0] ?? "";
    case "text":
    case "time":
      return isScalar(first) ? String(first) : "";
    default:
      return undefined;
  }
}

// Rules

export type Answer = "value" | "variant" | "split";
export const answers: Answer[] = ["value", "variant", "split"];

/** The one answer of a rule that the form shows. */
export const answerOf = (rule: Members): Answer => answers.find((one) => own(rule, one) !== undefined) ?? "value";

const shown = ["id", "description", "enabled", "when", "percent", "by", "seed", ...answers];

/** Whether the form shows everything that a rule says. */
export function isShown(rule: unknown, type: FlagType): rule is Members {
  return isRecord(rule) && onlyHas(rule, shown) &&
    pass(rule, ["id", "description", "by", "seed"], isText) &&
    pass(rule, ["enabled"], (value) => typeof value === "boolean") &&
    pass(rule, ["percent"], isNumber) &&
    readWhen(own(rule, "when")) !== null &&
    hasOneAnswer(rule, answers, type) &&
    pass(rule, ["split"], (split) =>
      own(rule, "percent") === undefined && Array.isArray(split) && split.every((share) => isShare(share, type)));
}

const isShare = (share: unknown, type: FlagType): boolean =>
  isRecord(share) && onlyHas(share, ["value", "variant", "percent"]) && isNumber(own(share, "percent")) &&
  hasOneAnswer(share, ["value", "variant"], type);

const hasOneAnswer = (given: Members, known: string[], type: FlagType): boolean =>
  known.filter((one) => one in given).length === 1 && pass(given, ["variant"], isText) &&
  pass(given, ["value"], (value) => fits(type, value));

/** The rule with another kind of answer. */
export function withAnswer(rule: Members, answer: Answer, type: FlagType, variants: string[]): Members {
  const start = type === "boolean" ? true : initialValues[type];
  const rest = without(rule, answers);
  if (answer === "value") return { ...rest, value: start };
  if (answer === "variant") return { ...rest, variant: variants[0] ?? "" };
  const split = [newShare(variants, [], start), newShare(variants, variants.slice(0, 1), initialValues[type])];
  return { ...without(rest, ["percent"]), split };
}

/** A share with a variant that has none yet. */
export function newShare(variants: string[], taken: unknown[], value: unknown): Members {
  const variant = variants.find((one) => !taken.includes(one)) ?? variants[0];
  return { ...(variant === undefined ? { value } : { variant }), percent: 10 };
}
