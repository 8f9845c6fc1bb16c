// What the client must do, against a real server. The same tests run in Node and in a browser: see run.mjs.
import {
    addUnique, date, deleteField, geoPoint, increment, Martlet, MartletError, memoryStore, Options, orNull, pointer,
    Session,
} from "../martlet";

/** `connection.json` of a server, and what the place that runs the tests has. */
export interface World {
    connection: { url: string; appKey: string; secret: string; masterKey: string };
    subtle: SubtleCrypto;
}

interface Note {
    title: string;
    age?: number;
    tags?: string[];
    author?: unknown;
    place?: unknown;
    due?: unknown;
}

type Test = (make: (options?: Partial<Options>) => Martlet, world: World) => Promise<void>;

const unique = () => Math.random().toString(36).slice(2);

function equal(found: unknown, expected: unknown): void {
    const [left, right] = [JSON.stringify(found), JSON.stringify(expected)];
    if (left !== right) throw new Error(`expected ${right}, found ${left}`);
}

async function refused(code: string, action: () => Promise<unknown>): Promise<MartletError> {
    try {
        await action();
    } catch (error) {
        if (!(error instanceof MartletError)) throw error;
        equal(error.code, code);
        return error;
    }
    throw new Error(`expected ${code}, but nothing was refused`);
}

async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 200; tries += 1) {
        if (await condition()) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`not within ten seconds: ${what}`);
}

/** A `fetch` that counts, and does to a request's answer what `meddle` says. */
function meddler(meddle: (url: string, init: RequestInit, go: () => Promise<Response>) => Promise<Response>) {
    const calls: Array<{ url: string; init: RequestInit }> = [];
    const meddling = (async (url: string, init: RequestInit) => {
        calls.push({ url, init });
        return meddle(url, init, () => fetch(url, init));
    }) as typeof fetch;
    return { fetch: meddling, calls, to: (part: string) => calls.filter(({ url }) => url.includes(part)) };
}

/** Loses the answers to the first `count` requests that match, after the server has done them. */
function losing(count: number, matches: (url: string, init: RequestInit) => boolean) {
    return meddler(async (url, init, go) => {
        const answer = await go();
        if (!matches(url, init) || count-- <= 0) return answer;
        await answer.arrayBuffer();
        throw new TypeError("the line broke");
    });
}

/** Stores all objects of the collection in one request. */
const createAll = (martlet: Martlet, collection: string, body: object[]) =>
    martlet.call("POST storage/all/{collection}", { path: { collection }, body: body as Record<string, unknown>[] });

const notesOf = (martlet: Martlet) => martlet.collection<Note>(`Notes-${unique()}`);
const someone = () => ({ userName: `ada-${unique()}`, password: "correct horse battery" });

async function totp(secret: string, subtle: SubtleCrypto): Promise<string> {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    const bits = Array.from(secret.replace(/=/g, ""), (c) => alphabet.indexOf(c).toString(2).padStart(5, "0")).join("");
    const key = Uint8Array.from(bits.match(/.{8}/g)!, (byte) => parseInt(byte, 2));
    const counter = new DataView(new ArrayBuffer(8));
    counter.setUint32(4, Math.floor(Date.now() / 30_000));
    const imported = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-1" }, false, ["sign"]);
    const digest = new DataView(await subtle.sign("HMAC", imported, counter));
    const value = digest.getUint32(digest.getUint8(19) & 15) & 0x7fffffff;
    return String(value % 1_000_000).padStart(6, "0");
}

export const tests: Record<string, Test> = {
    "a user signs up, out and in, and a wrong password is refused": async (make) => {
        const [martlet, told, fields] = [make(), [] as unknown[], someone()];
        martlet.auth.onChange((user) => told.push(user?.userName ?? null));
        const user = await martlet.auth.signUp({ ...fields, profile: { city: "London" } });
        equal(user.profile, { city: "London" });
        equal((await martlet.call("GET auth/me")).id, user.id);
        equal((await martlet.auth.update({ profile: { city: "Bern" } })).profile, { city: "Bern" });
        equal(martlet.auth.user?.profile, { city: "Bern" });
        await martlet.auth.logOut();
        equal(martlet.auth.user, null);
        await refused("sign-in-failed", () => martlet.auth.logIn({ ...fields, password: "wrong wrong" }));
        equal((await martlet.auth.logIn(fields)).id, user.id);
        equal(told, [fields.userName, fields.userName, null, fields.userName]);
    },

    "an anonymous user becomes a named one and keeps id and data": async (make) => {
        const martlet = make();
        const notes = notesOf(martlet);
        const user = await martlet.auth.logInAnonymously();
        await notes.create({ title: "mine", _readers: [user.id], _writers: [user.id] });
        const named = await martlet.auth.upgrade(someone());
        equal([named.id, named.isAnonymous, martlet.auth.user?.isAnonymous], [user.id, false, false]);
        equal(await notes.count(), 1);
        equal(await make().collection(notes.name).count(), 0);
    },

    "twenty callers with an expired token cause one refresh": async (make) => {
        const [line, sessions] = [meddler((_, __, go) => go()), memoryStore()];
        await make({ sessions }).auth.signUp(someone());
        sessions.save({ ...(sessions.load() as Session), expires: 0 });
        const martlet = make({ sessions, fetch: line.fetch });
        const answers = await Promise.all(Array.from({ length: 20 }, () => martlet.call("GET auth/me")));
        equal([new Set(answers.map((user) => user.id)).size, line.to("auth/refresh").length], [1, 1]);
    },

    "a token that the server refuses is refreshed once, and the call repeated": async (make) => {
        const [line, sessions] = [meddler((_, __, go) => go()), memoryStore()];
        const user = await make({ sessions }).auth.signUp(someone());
        const session = sessions.load() as Session;
        sessions.save({ ...session, accessToken: session.accessToken.slice(0, -8) + "AAAAAAAA" });
        const martlet = make({ sessions, fetch: line.fetch });
        const answers = await Promise.all([1, 2, 3].map(() => martlet.call("GET auth/me")));
        equal(answers.map(({ id }) => id), [user.id, user.id, user.id]);
        equal(line.to("auth/refresh").length, 1);
    },

    "the answer to a refresh may be lost": async (make) => {
        const sessions = memoryStore();
        await make({ sessions }).auth.signUp(someone());
        sessions.save({ ...(sessions.load() as Session), expires: 0 });
        const line = losing(1, (url) => url.includes("auth/refresh"));
        const martlet = make({ sessions, fetch: line.fetch });
        await martlet.call("GET auth/me");
        equal(line.to("auth/refresh").length, 2);
    },

    "a second tab takes the token that the first one refreshed": async (make) => {
        const [line, sessions] = [meddler((_, __, go) => go()), memoryStore()];
        const first = make({ sessions });
        await first.auth.signUp(someone());
        const second = make({ sessions, fetch: line.fetch });
        const before = await second.auth.accessToken();
        await first.auth.refresh(before!);
        await second.auth.refresh(before!);
        equal([await second.auth.accessToken(), line.calls.length], [await first.auth.accessToken(), 0]);
    },

    "a session that was ended elsewhere ends here": async (make) => {
        const sessions = memoryStore();
        const fields = someone();
        const martlet = make({ sessions });
        await martlet.auth.signUp(fields);
        const other = make();
        await other.auth.logIn(fields);
        await other.call("DELETE auth/sessions", { query: { keep: "current" } });
        const told: unknown[] = [];
        martlet.auth.onChange((user) => told.push(user));
        await refused("invalid-token", () => martlet.auth.refresh(martlet.auth["session"]!.accessToken));
        equal([martlet.auth.user, sessions.load(), told], [null, null, [null]]);
    },

    "signing in asks for the second factor": async (make, { subtle }) => {
        const [martlet, fields] = [make(), someone()];
        await martlet.auth.signUp(fields);
        const { secret } = await martlet.call("POST auth/me/totp", { body: { password: fields.password } });
        const code = await totp(secret!, subtle);
        const { recoveryCodes } = await martlet.call("POST auth/me/totp/confirm", { body: { code } });
        await martlet.auth.logOut();
        const error = await refused("second-factor-required", () => martlet.auth.logIn(fields));
        equal(error.status, 401);
        await martlet.auth.logIn({ ...fields, code: recoveryCodes![0] });
        equal(martlet.auth.user?.secondFactor, true);
    },

    "objects are created, read, replaced, changed, removed, restored and deleted": async (make) => {
        const martlet = make();
        const notes = notesOf(martlet);
        const made = await notes.create({ _id: "n1", title: "Bread", age: 20 });
        equal([made._id, made._version, made.title], ["n1", 1, "Bread"]);
        await refused("precondition-failed", () => notes.create({ _id: "n1", title: "Rye" }, { isNew: true }));
        equal((await notes.get("n1", { keys: ["title"] }))?.age, undefined);
        equal(await notes.get("n2"), null);
        equal((await notes.create({ _id: "n1", title: "Rye" })).age, undefined);
        equal((await notes.update("n1", { age: 3 })).title, "Rye");
        equal((await notes.update("n3", { title: "new" }, { upsert: true }))._version, 1);
        await martlet.call("POST storage/remove/{collection}/{id}", { path: { collection: notes.name, id: "n1" } });
        equal(await notes.get("n1"), null);
        equal((await notes.get("n1", { deleted: true }))?.deleted === null, false);
        await notes.create({ _id: "n1", title: "back" });
        equal([await notes.delete("n1"), await notes.delete("n1")], [true, false]);
    },

    "filters, orders, pages, cursors, counts and included objects": async (make) => {
        const martlet = make();
        const [notes, people] = [notesOf(martlet), martlet.collection<{ name: string }>(`People-${unique()}`)];
        await people.create({ _id: "ada", name: "Ada" });
        await createAll(martlet, notes.name, Array.from({ length: 25 }, (_, age) => ({
            title: `note ${age % 5}`, age, tags: age % 2 ? ["odd"] : ["even"], author: pointer(people.name, "ada"),
            place: geoPoint(46 + age / 100, 7), due: date(new Date(2026, 0, 1 + age)),
        })));
        equal(await notes.count(), 25);
        equal(await notes.count({ age: { $gte: 20 }, tags: "odd" }), 2);
        equal(await notes.count({ $or: [{ age: 1 }, { title: { $in: ["note 0"] } }] }), 6);
        equal(await notes.count({ due: { $lt: date(new Date(2026, 0, 3)) } }), 2);
        const near = { $nearSphere: geoPoint(46, 7), $maxDistanceInKilometers: 3 };
        equal((await notes.list({ where: { place: near } })).data.map((note) => note.age), [0, 1, 2]);
        const page = await notes.list({ order: ["title", "-age"], limit: 2, skip: 1, count: true });
        equal([page.count, page.data.map((note) => note.age)], [25, [15, 10]]);
        const ages: unknown[] = [];
        for await (const note of notes.each({ order: "-age", limit: 7 })) ages.push(note.age);
        equal(ages, Array.from({ length: 25 }, (_, index) => 24 - index));
        const [first] = (await notes.list({ where: { age: 3 }, include: ["author"] })).data;
        equal((first.author as { name: string }).name, "Ada");
    },

    "operations are carried out by the server": async (make) => {
        const notes = notesOf(make());
        await notes.create({ _id: "n", title: "x", age: 1, tags: ["a"] });
        const changes = { age: increment(), tags: addUnique("a", "b") };
        await Promise.all(Array.from({ length: 10 }, () => notes.update("n", changes)));
        const note = await notes.update("n", { title: deleteField(), "place.city": "Bern" });
        equal([note.age, note.tags, note.title, note.place], [11, ["a", "b"], undefined, { city: "Bern" }]);
    },

    "a write is refused if the object has changed since it was read": async (make) => {
        const martlet = make();
        const notes = notesOf(martlet);
        await createAll(martlet, notes.name, Array.from({ length: 20 }, (_, age) => ({ title: "x", age })));
        for (const read of (await notes.list()).data) {
            await notes.update(read._id, { age: increment() }, { ifUnchanged: read });
            await refused("precondition-failed", () => notes.update(read._id, { age: 0 }, { ifUnchanged: read }));
            await refused("precondition-failed", () => notes.delete(read._id, { ifUnchanged: read }));
        }
    },

    "a write whose answer is lost is done once": async (make) => {
        const done = new Set<string>();
        const line = losing(4, (url, { method, headers }) => {
            const write = `${method} ${url} ${(headers as Record<string, string>)["Idempotency-Key"]}`;
            return !url.includes("query") && !done.has(write) && done.add(write).has(write);
        });
        const martlet = make({ fetch: line.fetch });
        const notes = notesOf(martlet);
        await notes.create({ title: "once", age: 1 });
        await createAll(martlet, notes.name, [{ title: "twice" }, { title: "twice" }]);
        const [object] = (await notes.list({ where: { title: "once" } })).data;
        await notes.update(object._id, { age: increment() });
        equal(await notes.delete(object._id), true);
        equal([(await notes.list()).data.map((note) => note.title), line.calls.length], [["twice", "twice"], 10]);
    },

    "what is not safe to repeat is not repeated": async (make) => {
        const line = losing(9, (url) => url.includes("/auth/signup"));
        const error = await refused("network", () => make({ fetch: line.fetch }).auth.signUp(someone()));
        equal([error.status, error.isTemporary, line.calls.length], [0, true, 1]);
    },

    "Retry-After is obeyed, and a long one is left to the caller": async (make) => {
        let asked = "1";
        const line = meddler(async (_, __, go) => line.calls.length > 1 ? go()
            : new Response('{"code":"too-many-requests"}', { status: 429, headers: { "retry-after": asked } }));
        const martlet = make({ fetch: line.fetch });
        const began = Date.now();
        await martlet.collection("Notes").count();
        if (Date.now() - began < 950) throw new Error("it did not wait");
        line.calls.length = 0;
        asked = "300";
        const error = await refused("too-many-requests", () => martlet.collection("Notes").count());
        equal([error.retryAfterInSeconds, line.calls.length], [300, 1]);
    },

    "a batch answers each write, and a transaction does all or none": async (make) => {
        const martlet = make();
        const notes = notesOf(martlet);
        const path = (id: string) => `storage/${notes.name}${id && `/${id}`}`;
        const missing = { method: "PATCH" as const, path: path("none"), body: { title: "b" } };
        const added = { method: "PATCH" as const, path: path("a"), body: { age: increment(5) } };
        const created = { method: "POST" as const, path: path(""), body: { _id: "a", title: "a" } };
        const { data } = await martlet.call("POST storage/batch", { body: { requests: [created, missing] } });
        equal(data.map(({ status }) => status), [201, 404]);
        const body = { transaction: true, requests: [added, missing] };
        const error = await refused("object-not-found", () => martlet.call("POST storage/batch", { body }));
        equal([error.field, (await notes.get("a"))?.age], ["requests.1", undefined]);
        const line = losing(1, (url) => url.includes("batch"));
        const repeated = { transaction: true, requests: [added] };
        await make({ fetch: line.fetch }).call("POST storage/batch", { body: repeated });
        equal([(await notes.get("a"))?.age, line.calls.length], [5, 2]);
    },

    "errors have the server's codes": async (make) => {
        const martlet = make();
        const error = await refused("unknown-operator", () => notesOf(martlet).count({ age: { $near: 1 } as never }));
        equal([error.status, error.field, typeof error.requestId], [400, "$near", "string"]);
        await refused("unauthorized", () => make({ secret: "ms_wrong" }).collection("Notes").count());
        const stop = new AbortController();
        stop.abort();
        const aborted = await martlet.call("GET auth/me", { signal: stop.signal }).catch((error) => error);
        equal(aborted.name, "AbortError");
        for (const id of ["", "..", "../x"])
            equal(await notesOf(martlet).get(id).catch((error) => error.name), "TypeError");
        equal(await martlet.files.upload("a/../../auth/logout", "").catch((error) => error.name), "TypeError");
    },

    "a live query tells every change once, over broken streams": async (make) => {
        let breaks = 0;
        const line = meddler(async (url, init, go) => {
            const answer = await go();
            if (!url.includes("/live/") || breaks >= 6) return answer;
            breaks += 1;
            let left = 400 * breaks;
            const cut = new TransformStream<Uint8Array, Uint8Array>({
                transform(chunk, controller) {
                    controller.enqueue(chunk.slice(0, left));
                    if ((left -= chunk.length) <= 0) controller.error(new Error("the line broke"));
                },
            });
            return new Response(answer.body!.pipeThrough(cut), answer);
        });
        const notes = notesOf(make({ fetch: line.fetch }));
        const stop = new AbortController();
        const told: string[] = [];
        const following = (async () => {
            for await (const { kind, object } of notes.live({ where: { tags: "on" }, signal: stop.signal })) {
                if (kind !== "open") told.push(`${kind} ${object?.age}`);
                else if (told.length === 0) told.push("open");
            }
        })();
        await eventually("the stream is open", () => told.length > 0);
        const expected = ["open"];
        await notes.create({ _id: "n", title: "x", age: 0, tags: ["off"] });
        for (let age = 1; age <= 40; age += 1) {
            await notes.update("n", { age, tags: [age === 20 ? "off" : "on"] });
            expected.push(`${age === 1 || age === 21 ? "enter" : age === 20 ? "leave" : "update"} ${age}`);
        }
        // A missed event of an object that is deleted has no object, so the deletion waits.
        await eventually("the writes have been told", () => told.length >= expected.length);
        await notes.delete("n");
        expected.push("delete 40");
        await eventually("everything has been told", () => told.length >= expected.length);
        equal(told, expected);
        equal(breaks, 6);
        stop.abort();
        await following;
    },

    "a watched list follows the collection": async (make) => {
        const martlet = make();
        const notes = notesOf(martlet);
        await notes.create({ _id: "a", title: "a", age: 1 });
        const stop = new AbortController();
        let seen = "";
        const watching = (async () => {
            for await (const list of notes.watch({ where: { age: { $gt: 0 } }, signal: stop.signal }))
                seen = list.map((note) => `${note._id}${note.age}`).join(" ");
        })();
        await eventually("the first list", () => seen === "a1");
        const others = [{ _id: "b", title: "b", age: 2 }, { _id: "c", title: "c", age: 0 }];
        await createAll(martlet, notes.name, others);
        await notes.update("a", { age: 7 });
        await eventually("a new and a changed one", () => seen === "a7 b2");
        await notes.update("a", { age: 0 });
        await martlet.call("POST storage/remove/{collection}/{id}", { path: { collection: notes.name, id: "b" } });
        await notes.update("c", { age: 1 });
        await eventually("one left, one was removed, one came", () => seen === "c1");
        stop.abort();
        await watching;
    },

    "leaving a live query's loop ends its request": async (make) => {
        const notes = notesOf(make());
        for await (const change of notes.live()) {
            equal(change.kind, "open");
            break;
        }
        const cursor = (await firstOf(notes.live())).cursor;
        // Word processors write this separator; in a stream it is not the end of a line.
        const title = "one\u2028two";
        await notes.create({ title });
        const missed = await firstOf(notes.live({ since: cursor }), (change) => change.kind !== "open");
        equal(missed.object?.title, title);
        await refused("invalid-parameter", () => firstOf(notes.live({ since: "nonsense" })));
    },

    "the change feed continues where it was": async (make) => {
        const martlet = make();
        const notes = notesOf(martlet);
        const read = (query: { since?: string; limit?: number }) =>
            martlet.call("GET changes/{collection}", { path: { collection: notes.name }, query });
        await createAll(martlet, notes.name, ["n0", "n1", "n2"].map((_id, age) => ({ _id, title: "x", age })));
        const [first, ids] = [await read({ limit: 2 }), new Set<string>()];
        const second = await read({ since: first.cursor });
        for (const { _id } of [...first.changed, ...second.changed]) ids.add(_id);
        equal([ids.size, first.more], [3, true]);
        await notes.update("n1", { age: 9 });
        await notes.delete("n2");
        const { changed, deleted } = await read({ since: second.cursor });
        equal([changed.map((note) => note.age), deleted], [[9], ["n2"]]);
    },

    "files are uploaded, listed, downloaded, linked and deleted": async (make) => {
        const martlet = make();
        const { files } = martlet;
        const folder = `trips ${unique()}`;
        const made = await files.upload(`${folder}/römisch & co.txt`, "hello", { writers: ["*"] });
        equal([made.path, made.size], [`${folder}/römisch & co.txt`, 5]);
        equal(await (await files.download(made.path)).text(), "hello");
        const directory = { path: { path: `${folder}/` } };
        const list = await martlet.callNamed<{ data: { name: string }[] }>("GET upload/{path}", directory);
        equal(list.data.map(({ name }) => name), ["römisch & co.txt"]);
        equal(await (await fetch(await files.link(made.path, { expiresInSeconds: 60 }))).text(), "hello");
        await files.delete(made.path);
        equal(await files.info(made.path), null);
        await refused("file-not-found", () => files.download(made.path));
    },

    "an upload in parts survives broken connections and a restart": async (make) => {
        const line = losing(3, (url, init) => url.includes("files/tus/") && init.method === "PATCH");
        const bytes = Uint8Array.from({ length: 250_000 }, (_, index) => index % 251);
        const path = `large-${unique()}`;
        const progress: number[] = [];
        const record = await make({ fetch: line.fetch }).files.uploadInParts(path, new Blob([bytes]), {
            partSizeInBytes: 100_000, onProgress: (sent) => progress.push(sent),
        });
        equal([record.size, progress[progress.length - 1]], [250_000, 250_000]);
        const stored = new Uint8Array(await (await make().files.download(path)).arrayBuffer());
        equal(stored.every((byte, index) => byte === bytes[index]), true);

        let transfer = "";
        const stop = new AbortController();
        const stopped = make().files.uploadInParts(`${path}-2`, new Blob([bytes]), {
            partSizeInBytes: 100_000, signal: stop.signal,
            onBegin: (id) => (transfer = id), onProgress: () => stop.abort(),
        });
        equal(await stopped.then(() => "done", () => "stopped"), "stopped");
        const later = meddler((_, __, go) => go());
        await make({ fetch: later.fetch }).files.uploadInParts(`${path}-2`, new Blob([bytes]), {
            partSizeInBytes: 100_000, transfer,
        });
        equal(later.calls.filter(({ init }) => init.method === "PATCH").length, 2);
    },

    "configuration is read, and followed": async (make, { connection }) => {
        const appVersion = `${Date.now() % 9_000}.${Math.floor(Math.random() * 9_000)}.0`;
        const [martlet, server] = [make(), make({ masterKey: connection.masterKey })];
        const read = (theme: string) =>
            martlet.call("POST remote", { body: { appVersion, theme }, isRepeatable: true });
        equal(await orNull("document-not-found", read("None")), null);
        const stop = new AbortController();
        const told: string[] = [];
        const following = (async () => {
            for await (const { data } of martlet.follow("GET config/events", { signal: stop.signal }))
                told.push(data!);
        })();
        await eventually("the stream is open", () => told.length > 0);
        const configuration = { mainSettings: { color: "red" } };
        await server.call("POST remote", { body: { appVersion, theme: "Dark", configuration } });
        await eventually("the publication is told", () => told.join().includes(`"${appVersion}~Dark"`));
        equal((await read("Dark")).mainSettings, configuration.mainSettings);
        stop.abort();
        await following;
    },

    "a stream about configuration connects again": async (make) => {
        const line = meddler(async (_, __, go) => {
            const answer = await go();
            if (line.calls.length > 2) return answer;
            const { value } = await answer.body!.getReader().read();
            return new Response(value, answer);
        });
        const stop = new AbortController();
        let opened = 0;
        const martlet = make({ fetch: line.fetch });
        for await (const { data } of martlet.follow("GET config/events", { signal: stop.signal })) {
            equal(typeof JSON.parse(data!).generation, "number");
            if ((opened += 1) === 3) stop.abort();
        }
        equal([opened, line.calls.length], [3, 3]);
    },

    "a request that takes too long is tried again": async (make) => {
        const line = meddler((_, init, go) => line.calls.length > 1 ? go() : new Promise((_, reject) =>
            init.signal!.addEventListener("abort", () => reject(new Error("aborted")))));
        const martlet = make({ fetch: line.fetch, timeoutInMilliseconds: 2_000 });
        equal([await notesOf(martlet).count(), line.calls.length], [0, 2]);
    },

    "an empty file is uploaded in parts": async (make) => {
        equal((await make().files.uploadInParts(`empty-${unique()}`, new Blob([]))).size, 0);
    },

    "flags are evaluated for the device": async (make, { connection }) => {
        const [martlet, server] = [make(), make({ masterKey: connection.masterKey })];
        const key = `new-${unique()}`;
        const flags = { [key]: { type: "boolean", default: true } };
        const write = { body: { flags }, headers: { "If-None-Match": "*" } };
        await server.callNamed("PUT config/flags/default", write).catch(() =>
            server.callNamed("PATCH config/flags/default", { body: { flags }, headers: { "If-Match": "*" } }));
        await server.callNamed("POST config/flags/default/publish");
        const body = { context: { targetingKey: martlet.deviceId, plan: "premium" } };
        await eventually("the publication has reached the service", async () =>
            (await martlet.call("POST flags/evaluate", { body, isRepeatable: true })).flags[key]?.value === true);
    },

    "events are stored once, although answers are lost": async (make, { connection }) => {
        const line = losing(2, (url) => url.endsWith("/events"));
        const martlet = make({ fetch: line.fetch });
        const name = `Bought ${unique()}`;
        const batch = [1, 2, 3].map((price) => ({
            type: "track" as const, event: name, messageId: unique(), anonymousId: martlet.deviceId,
            timestamp: new Date().toISOString(), properties: { price },
        }));
        await martlet.call("POST events", { body: { batch }, isRepeatable: true });
        equal(line.calls.length, 3);
        const server = make({ masterKey: connection.masterKey });
        const query = `analytics/events?event=${encodeURIComponent(name)}&limit=10`;
        const stored = (await server.callNamed(`GET ${query}`)) as { data: unknown[] };
        equal(stored.data.length, 3);
    },
};

/** Never called: the compiler must refuse each of these. */
export function mistakes(martlet: Martlet): void {
    const notes = martlet.collection<Note>("Notes");
    // @ts-expect-error: a field that is misspelt
    void notes.list({ where: { titel: "x" } });
    // @ts-expect-error: a value of another type
    void notes.count({ age: "x" });
    // @ts-expect-error: an operator that is misspelt
    void notes.count({ age: { $gret: 1 } });
    // @ts-expect-error: a new value of another type
    void notes.update("n", { age: "x" });
    // @ts-expect-error: an object that lacks a field
    void notes.create({ age: 1 });
    // @ts-expect-error: no such call
    void martlet.call("GET auth/nobody");
    // @ts-expect-error: a call without its body
    void martlet.call("POST auth/login");
    // @ts-expect-error: no such code
    void (new MartletError({}).code === "not-there");
}

async function firstOf<Value>(
    values: AsyncGenerator<Value>, matches: (value: Value) => boolean = () => true
): Promise<Value> {
    for await (const value of values) if (matches(value)) return value;
    throw new Error("the stream ended");
}

/** Runs all tests, or those whose names contain `only`. Answers a line for each and how many failed. */
export async function run(world: World, only: string, report: (line: string) => void): Promise<number> {
    let failed = 0;
    for (const [name, test] of Object.entries(tests).filter(([name]) => name.includes(only))) {
        const began = Date.now();
        const { url, appKey, secret } = world.connection;
        const make = (options: Partial<Options> = {}) =>
            new Martlet({ url, appKey, secret, sessions: memoryStore(), deviceId: `device-${unique()}`, ...options });
        try {
            await test(make, world);
            report(`ok ${name} (${Date.now() - began} ms)`);
        } catch (error) {
            failed += 1;
            report(`not ok ${name}: ${error instanceof Error ? error.stack : error}`);
        }
    }
    return failed;
}
