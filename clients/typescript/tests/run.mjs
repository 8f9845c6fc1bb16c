#!/usr/bin/env node
// Checks the client's types, builds it, and runs its tests against a running server, in Node or in Chromium:
//
//     node clients/typescript/tests/run.mjs (node | chromium) CONNECTION.json [WORDS OF A TEST'S NAME]
//
// Needs Debian's packages node-typescript and esbuild, and for the second chromium. The page of the browser comes from
// an origin of its own, so the server must allow origins: MARTLET_CORS_ORIGINS='*'.
import { execFileSync, spawn } from "node:child_process";
import { webcrypto } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [place, connectionFile, only = ""] = process.argv.slice(2);
const source = fileURLToPath(new URL("tests.ts", import.meta.url));
const connection = JSON.parse(readFileSync(connectionFile, "utf8"));
const folder = mkdtempSync(join(tmpdir(), "martlet-ts-"));

function build() {
    const library = ["--lib", "es2020,dom,dom.iterable"];
    execFileSync("tsc", ["--strict", "--noEmit", "--target", "es2020", ...library, source], { stdio: "inherit" });
    const bundle = join(folder, "tests.mjs");
    const options = ["--bundle", "--format=esm", "--target=es2020", "--log-level=warning"];
    execFileSync("esbuild", [source, ...options, `--outfile=${bundle}`]);
    return bundle;
}

const page = `<!doctype html><meta charset="utf-8"><script type="module">
    import { run } from "/tests.mjs";
    const report = (line) => fetch("/report", { method: "POST", body: line });
    window.onerror = (message) => report("not ok the page: " + message);
    const world = { connection: ${JSON.stringify(connection)}, subtle: crypto.subtle };
    const failed = await run(world, ${JSON.stringify(only)}, report);
    await report("done " + failed);
</script>`;

/** Serves the page, opens it in Chromium, and answers how many tests failed. */
function runInChromium(bundle) {
    return new Promise((resolve, reject) => {
        const server = createServer(async (request, response) => {
            const answers = { "/": ["text/html", page], "/tests.mjs": ["text/javascript", readFileSync(bundle)] };
            const [type, body] = answers[request.url] ?? ["text/plain", ""];
            response.writeHead(200, { "content-type": type }).end(body);
            let line = "";
            for await (const part of request) line += part;
            if (line.startsWith("done ")) finish(() => resolve(Number(line.slice(5))));
            else if (line) console.log(line);
        });
        let browser;
        const late = new Error("the browser took more than four minutes");
        const timer = setTimeout(() => finish(() => reject(late)), 240_000);
        function finish(settle) {
            clearTimeout(timer);
            server.close();
            browser.once("exit", settle);
            browser.kill();
        }
        server.listen(0, "127.0.0.1", () => {
            const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
            const profile = `--user-data-dir=${join(folder, "profile")}`;
            const address = `http://127.0.0.1:${server.address().port}/`;
            browser = spawn("chromium", [...options, profile, address], { stdio: "ignore" });
            browser.once("error", reject);
        });
    });
}

let failed = 1;
try {
    const bundle = build();
    const { run } = await import(pathToFileURL(bundle));
    if (place === "chromium") failed = await runInChromium(bundle);
    else failed = await run({ connection, subtle: webcrypto.subtle }, only, console.log);
} finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`${place}: ${failed} tests failed`);
process.exit(failed ? 1 : 0);
