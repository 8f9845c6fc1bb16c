#!/usr/bin/env node
// Writes the types of the API's calls into TypeScript files, from docs/openapi.yaml. Needs nothing but Node 18:
//
//     node clients/typescript/generate-types.mjs [--check] FILE...
//
// A FILE has a line `// BEGIN GENERATED for SCHEME` and a line `// END GENERATED`; what is between them is replaced.
// Beside the types there is one value: which calls are done once if they have an `Idempotency-Key`.
// SCHEME is a security scheme of openapi.yaml: `secret` takes the calls of apps, `staffToken` those of staff. Paths
// after it take only calls whose path begins with one of them: `for staffToken /admin/auth /admin/apps`.
// With --check nothing is written, and a stale file is an error.
import { readFileSync, writeFileSync } from "node:fs";
import { parseYAML } from "./yaml.mjs";

const width = 120;
const description = parseYAML(readFileSync(new URL("../../docs/openapi.yaml", import.meta.url), "utf8"));

/** The object that a `$ref` points to, or the value itself. */
function resolved(value) {
    if (value?.$ref === undefined) return value;
    return value.$ref.slice(2).split("/").reduce((found, name) => found[name], description);
}

const literal = (value) => JSON.stringify(value);
const member = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name));

/** Lines of a doc comment, or none. */
function comment(text, indent) {
    if (!text) return [];
    text = text.replaceAll("*/", "* /").replace(/\[([^\]]+)\]\([^)]+\)/g, "$1");
    if (indent.length + text.length + 7 <= width) return [`${indent}/** ${text} */`];
    const lines = [`${indent}/**`];
    for (const word of text.split(/\s+/)) {
        const line = lines.at(-1);
        if (lines.length > 1 && line.length + word.length < width) lines[lines.length - 1] = `${line} ${word}`;
        else lines.push(`${indent} * ${word}`);
    }
    return [...lines, `${indent} */`];
}

/** Translates schemas to types, and remembers the names of those that it refers to. */
class Types {
    names = new Set();

    /** @param prefix What stands before the name of another schema. */
    constructor(prefix) {
        this.prefix = prefix;
    }

    of(schema, indent) {
        if (schema === undefined || schema === true) return "unknown";
        if (schema.$ref !== undefined) {
            const name = schema.$ref.split("/").at(-1);
            this.names.add(name);
            return this.prefix + name;
        }
        const parts = (schema.allOf ?? []).map((part) => this.of(part, indent));
        for (const choice of [schema.anyOf, schema.oneOf]) if (choice) parts.push(this.union(choice, indent));
        const own = this.own(schema, indent);
        if (own !== "unknown" || parts.length === 0) parts.unshift(own);
        if (parts.length === 1) return parts[0];
        return parts.map((part) => (part.includes(" | ") ? `(${part})` : part)).join(" & ");
    }

    union(schemas, indent) {
        const types = [...new Set(schemas.map((schema) => this.of(schema, indent)))];
        return types.includes("unknown") ? "unknown" : types.join(" | ");
    }

    own(schema, indent) {
        if ("const" in schema) return literal(schema.const);
        if (schema.enum) return this.values(schema.enum, indent);
        if (schema.format === "binary") return "BodyInit";
        if (schema.type === undefined && schema.properties) return this.object(schema, indent);
        if (schema.type === undefined) return "unknown";
        return [schema.type].flat().map((type) => this.plain(type, schema, indent)).join(" | ");
    }

    values(values, indent) {
        const line = values.map(literal).join(" | ");
        if (indent.length + line.length < width - 30) return line;
        return values.map((value) => `\n${indent}    | ${literal(value)}`).join("");
    }

    plain(type, schema, indent) {
        if (type === "object") return this.object(schema, indent);
        if (type !== "array") return type === "integer" ? "number" : type;
        const items = this.of(schema.items, indent);
        return /[ &|]/.test(items) ? `Array<${items}>` : `${items}[]`;
    }

    object(schema, indent) {
        const lines = this.members(schema, indent + "    ");
        return lines.length ? `{\n${lines.join("\n")}\n${indent}}` : "Record<string, unknown>";
    }

    members(schema, indent) {
        const required = new Set(schema.required ?? []);
        const lines = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => [
            ...comment(property.description, indent),
            `${indent}${member(name)}${required.has(name) ? "" : "?"}: ${this.of(property, indent)};`,
        ]);
        const others = schema.additionalProperties;
        if (!others || (others === true && lines.length === 0)) return lines;
        // Beside other members it must allow their types, too.
        const type = this.of(others, indent);
        return [...lines, `${indent}[name: string]: ${lines.length ? "unknown" : type};`];
    }
}

const callName = (method, path) => `${method.toUpperCase()} ${path.replace("/api/{appKey}/", "")}`;
const methods = ["get", "post", "put", "patch", "delete", "head"];

/** The calls that the scheme alone, or with a user's token, allows. */
function selectedCalls(scheme, prefixes) {
    return Object.entries(description.paths).flatMap(([path, calls]) =>
        methods.filter((method) => calls[method]?.security.some((entry) => scheme in entry))
            .filter(() => prefixes.length === 0 || prefixes.some((prefix) => path.startsWith(prefix)))
            .map((method) => ({ ...calls[method], name: callName(method, path) })));
}

/** The members `path`, `query` or `headers` of a call. */
function parameterLines(call, place, name, types) {
    const parameters = (call.parameters ?? []).map(resolved).filter((parameter) => parameter.in === place
        && parameter.name !== "appKey" && parameter.name !== "X-Martlet-Environment");
    if (parameters.length === 0) return [];
    const properties = Object.fromEntries(parameters.map(({ name, schema, description }) => [
        name, { ...(resolved(schema).enum?.includes("false") ? { type: "boolean" } : schema), description },
    ]));
    const required = parameters.filter((parameter) => parameter.required).map((parameter) => parameter.name);
    const lines = types.members({ properties, required }, "            ");
    return [`        ${name}${required.length ? "" : "?"}: {`, ...lines, "        };"];
}

function bodyLines(call, types) {
    const body = resolved(call.requestBody);
    if (!body) return [];
    const schemas = Object.entries(body.content)
        .map(([media, { schema }]) => (/json/.test(media) ? schema : { format: "binary" }));
    return [
        ...comment(body.description, "        "),
        `        body${body.required ? "" : "?"}: ${types.union(schemas, "        ")};`,
    ];
}

/** What a success has in its body: JSON, nothing, or `unknown` where the description leaves it open. */
function answerType(call, types) {
    const successes = Object.entries(call.responses).filter(([status]) => status.startsWith("2"));
    const answers = successes.map(([status, answer]) => {
        const schema = resolved(answer).content?.["application/json"]?.schema;
        return schema ? types.of(schema, "        ") : status === "204" ? "undefined" : "unknown";
    });
    return [...new Set(answers)].filter((type) => type !== "unknown").join(" | ") || "unknown";
}

function callLines(call, types) {
    return [
        ...comment(call.summary, "    "),
        `    ${literal(call.name)}: {`,
        ...parameterLines(call, "path", "path", types),
        ...parameterLines(call, "query", "query", types),
        ...parameterLines(call, "header", "headers", types),
        ...bodyLines(call, types),
        `        answer: ${answerType(call, types)};`,
        "    };",
    ];
}

/** The schemas that the calls use, and those that these use, by name. */
function schemaLines(names) {
    const types = new Types("");
    types.names = new Set(names);
    const done = new Map();
    for (const name of types.names) {
        const schema = description.components.schemas[name];
        const isPlain = schema.properties && !schema.allOf && !schema.anyOf && !schema.oneOf;
        done.set(name, [
            ...comment(schema.description, "    "),
            ...(isPlain ? [`    interface ${name} {`, ...types.members(schema, "        "), "    }"]
                : [`    type ${name} = ${types.of(schema, "    ")};`]),
        ]);
    }
    return [...done.keys()].sort().flatMap((name) => done.get(name));
}

/** The names of the calls that take an `Idempotency-Key`. */
function idempotentCallLines(calls) {
    const isKey = (parameter) => parameter.in === "header" && parameter.name === "Idempotency-Key";
    const names = calls.filter((call) => (call.parameters ?? []).map(resolved).some(isKey)).map(({ name }) => name);
    if (names.length === 0) return [];
    return [
        "/** The calls that the server carries out once for an `Idempotency-Key`, however often they are sent. */",
        "const callsWithIdempotencyKey: ReadonlySet<string> = new Set([",
        ...names.map((name) => `    ${literal(name)},`), "]);", "",
    ];
}

function generated(selection) {
    const [scheme, ...prefixes] = selection.split(/\s+/);
    const calls = selectedCalls(scheme, prefixes);
    if (calls.length === 0) throw new Error(`no call has the security scheme ${scheme}`);
    const types = new Types("API.");
    types.names.add("Problem");
    const lines = calls.flatMap((call) => callLines(call, types));
    return [
        "/** The values that calls take and answer, by their names in docs/openapi.yaml. */",
        "export declare namespace API {", ...schemaLines(types.names), "}", "",
        "/** The calls, by method and path; those of apps without `/api/{appKey}/` in front. */",
        "export interface Calls {", ...lines, "}", "",
        ...idempotentCallLines(calls),
    ].join("\n").replace(/[:=] \n/g, (text) => text.trimEnd() + "\n");
}

/** Whether the file is as it should be afterwards. */
function update(file, isCheck) {
    const text = readFileSync(file, "utf8");
    const parts = /^(.*\/\/ BEGIN GENERATED for ([^\n]+)\n)(.*)(\/\/ END GENERATED.*)$/s.exec(text);
    if (!parts) throw new Error(`${file}: expected the lines BEGIN GENERATED for SCHEME and END GENERATED`);
    const [, head, selection, before, tail] = parts;
    const after = generated(selection.trim());
    if (after === before) return true;
    if (isCheck) console.error(`${file} is stale: run node clients/typescript/generate-types.mjs ${file}`);
    else writeFileSync(file, head + after + tail);
    return !isCheck;
}

const isCheck = process.argv[2] === "--check";
const files = process.argv.slice(isCheck ? 3 : 2);
if (files.length === 0) throw new Error("usage: generate-types.mjs [--check] FILE...");
process.exitCode = files.map((file) => update(file, isCheck)).every(Boolean) ? 0 : 1;
