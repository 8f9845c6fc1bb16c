// Reads the YAML that `martlet openapi` writes: block and flow collections, JSON strings, numbers and plain words
// (Sources/Services/OperatorCommands/Description/YAMLText.swift). Other YAML is refused.

/** @param {string} text */
export function parseYAML(text) {
    const lines = text.split("\n").map((line, index) => ({ line, number: index + 1 }))
        .filter(({ line }) => line.trim() !== "" && !line.startsWith("#"));
    const [value, next] = readBlock(lines, 0, 0);
    if (next < lines.length) throw new Error(`line ${lines[next].number}: unexpected indentation`);
    return value;
}

const indentation = (line) => line.length - line.trimStart().length;

/** The collection whose entries begin at this indentation, and the index of the line after it. */
function readBlock(lines, index, indent) {
    const isList = lines[index].line.startsWith("-", indent);
    const [list, members] = [[], []];
    while (index < lines.length && indentation(lines[index].line) === indent) {
        const scanner = new Scanner(lines[index].line, indent, lines[index].number);
        const name = isList ? scanner.expect("-") : scanner.scalar();
        if (!isList) scanner.expect(":");
        scanner.skipBlanks();
        let value;
        if (scanner.isAtEnd) [value, index] = readBlock(lines, index + 1, indentation(lines[index + 1].line));
        else [value, index] = [scanner.wholeValue(), index + 1];
        if (isList) list.push(value);
        else members.push([name, value]);
    }
    return [isList ? list : Object.fromEntries(members), index];
}

class Scanner {
    constructor(text, position, number) {
        Object.assign(this, { text, position, number });
    }

    get isAtEnd() {
        return this.position >= this.text.length;
    }

    skipBlanks() {
        while (this.text[this.position] === " ") this.position += 1;
    }

    expect(character) {
        if (this.text[this.position] !== character) throw this.error(`expected ${character}`);
        this.position += 1;
    }

    error(what) {
        return new Error(`line ${this.number}, column ${this.position + 1}: ${what}`);
    }

    wholeValue() {
        const value = this.value();
        if (!this.isAtEnd) throw this.error("expected the end of the line");
        return value;
    }

    value() {
        if (this.text[this.position] === "{") return Object.fromEntries(this.items("{", "}", () => this.entry()));
        if (this.text[this.position] === "[") return this.items("[", "]", () => this.value());
        return this.scalar();
    }

    entry() {
        const name = this.scalar();
        this.expect(":");
        this.skipBlanks();
        return [name, this.value()];
    }

    items(open, close, read) {
        const items = [];
        this.expect(open);
        while (this.text[this.position] !== close) {
            if (items.length) this.expect(",");
            this.skipBlanks();
            items.push(read());
        }
        this.expect(close);
        return items;
    }

    scalar() {
        const [token] = /^("(?:[^"\\]|\\.)*"|[\w/.$+ -]+)/.exec(this.text.slice(this.position)) ?? [];
        if (token === undefined) throw this.error("expected a scalar");
        this.position += token.length;
        return /^["\d-]/.test(token) || ["true", "false", "null"].includes(token) ? JSON.parse(token) : token;
    }
}
