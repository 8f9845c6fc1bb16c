#!/usr/bin/env node
// Checks and runs the ```ts blocks of a document as one program, with the keys of a running server:
//
//     node clients/typescript/tests/run-document.mjs DOCUMENT CONNECTION.json
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [document, connectionFile] = process.argv.slice(2);
const { url, appKey, secret } = JSON.parse(readFileSync(connectionFile, "utf8"));
const blocks = [...readFileSync(document, "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block);
if (blocks.length === 0) throw new Error(`${document} has no blocks of TypeScript`);
const program = blocks.join("\n")
    .replaceAll("http://127.0.0.1:8080", url).replaceAll("mk_live_…", appKey).replaceAll("ms_…", secret);

const folder = mkdtempSync(join(tmpdir(), "martlet-ts-"));
try {
    const [source, bundle] = [join(folder, "app.ts"), join(folder, "app.mjs")];
    copyFileSync(fileURLToPath(new URL("../martlet.ts", import.meta.url)), join(folder, "martlet.ts"));
    writeFileSync(source, program);
    const options = ["--strict", "--noEmit", "--target", "es2022", "--module", "es2022", "--moduleResolution", "node"];
    execFileSync("tsc", [...options, "--lib", "es2022,dom,dom.iterable", source], { stdio: "inherit" });
    execFileSync("esbuild", [source, "--bundle", "--format=esm", "--log-level=warning", `--outfile=${bundle}`]);
    execFileSync(process.execPath, [bundle], { stdio: "inherit", timeout: 60_000 });
} finally {
    rmSync(folder, { recursive: true, force: true });
}
