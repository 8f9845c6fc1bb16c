// Martlet for TypeScript and JavaScript, in browsers and Node 18: one file without dependencies.
// The file README.md beside this one shows how to use it.

/** How a client reaches its app. */
export interface Options {
    /** The server's address, such as `https://martlet.example.org`. */
    url: string;
    appKey: string;
    /** The app's secret. It is public: the rules of collections decide what a client may do. */
    secret?: string;
    /** Only for your own servers. Takes the place of the secret. */
    masterKey?: string;
    environment?: "live" | "test";
    /** Where the session is kept. Default: `localStorage`, or memory where there is none. */
    sessions?: SessionStore;
    /** Identifies the device for flags and events. Default: a random id in `localStorage`, or one for this object. */
    deviceId?: string;
    fetch?: typeof fetch;
    /** How often a request is tried if repeating it does no harm. Default: 4. */
    maximumAttempts?: number;
    /** The time for one attempt, with its answer's body. Default: 60,000. */
    timeoutInMilliseconds?: number;
    /** Learns of retries and broken streams. */
    log?: (message: string) => void;
}

/** A code of the server (docs/ERRORS.md), `network` if no answer came, or `unknown` if the answer has none. */
export type ErrorCode = API.Problem["code"] | "network" | "unknown";

/** What failed. Check `code`; it is stable. */
export class MartletError extends Error {
    readonly code: ErrorCode;
    /** The HTTP status; 0 without an answer. */
    readonly status: number;
    /** What was wrong with this request, for developers. */
    readonly detail?: string;
    /** The field or parameter that `detail` is about. */
    readonly field?: string;
    readonly requestId?: string;
    /** How long the server asks to wait before the next attempt. */
    readonly retryAfterInSeconds?: number;

    constructor(problem: Partial<Record<keyof MartletError | "title", any>>) {
        super([problem.title ?? "The request failed", problem.field, problem.detail].filter(Boolean).join(": "));
        this.name = "MartletError";
        ({ code: this.code = "unknown", status: this.status = 0, detail: this.detail, field: this.field } = problem);
        ({ requestId: this.requestId, retryAfterInSeconds: this.retryAfterInSeconds } = problem);
    }

    /** Whether the same request may succeed later. */
    get isTemporary(): boolean { return [0, 408, 429, 502, 503, 504].includes(this.status); }

    static async from(response: Response): Promise<MartletError> {
        const retryAfterInSeconds = Number(response.headers.get("retry-after")) || undefined;
        const problem = await response.json().catch(() => ({}));
        return new MartletError({ ...problem, status: response.status, retryAfterInSeconds });
    }

    static network(error: unknown): MartletError {
        return new MartletError({ title: "No answer came", detail: String(error), code: "network" });
    }
}

export interface RequestOptions {
    headers?: Record<string, string | undefined>;
    signal?: AbortSignal;
    /** Whether doing it twice does no harm, although it is neither a `GET` nor a write of objects. */
    isRepeatable?: boolean;
}

interface Sending extends RequestOptions {
    path?: Record<string, unknown>;
    query?: Record<string, unknown>;
    body?: unknown;
    /** Answers as soon as the head has arrived. */
    isStream?: boolean;
    /** Sends no access token. */
    isWithoutUser?: boolean;
    maximumAttempts?: number;
}

/** Everything that a call takes. */
export type Input<C extends keyof Calls> = Omit<Calls[C], "answer"> & RequestOptions;

/** An app on a Martlet server. */
export class Martlet {
    readonly auth: Auth;
    readonly files = new Files(this);
    readonly deviceId: string;

    constructor(readonly options: Options) {
        if (!options.secret && !options.masterKey) throw new TypeError("secret or masterKey is required");
        this.deviceId = options.deviceId ?? storedDeviceId(options.appKey);
        this.auth = new Auth(this, options.sessions ?? defaultStore(options));
    }

    /** The objects of a collection, as `T`. The type is not checked; give the collection a schema for that. */
    collection<T extends object = Record<string, unknown>>(name: string): Collection<T> {
        return new Collection<T>(this, name);
    }

    /** Makes any call of the API by its method and path: `call("GET auth/users/{id}", { path: { id } })`. */
    call<C extends keyof Calls>(
        name: C, ...[input]: {} extends Omit<Calls[C], "answer"> ? [Input<C>?] : [Input<C>]
    ): Promise<Calls[C]["answer"]> {
        return this.callNamed(name, input as Sending);
    }

    /** As `call`, for what has no types here. Answers JSON, text, or undefined. */
    async callNamed<Answer>(name: string, input: Sending = {}): Promise<Answer> {
        const response = await this.send(name, input);
        const text = await response.text();
        const isJSON = text && (response.headers.get("content-type") ?? "").includes("json");
        return isJSON ? JSON.parse(text) : text || undefined;
    }

    /**
     * Makes a call with the app's keys and the user's token, and repeats it where that is safe.
     *
     * @throws MartletError for every answer but 2xx and 304, and if there is no answer.
     */
    async send(name: string, input: Sending = {}): Promise<Response> {
        const key = takesIdempotencyKey(name, input.body) ? uuid() : undefined;
        const isRepeatable = input.isRepeatable || key !== undefined || /^(GET|HEAD) /.test(name);
        const maximumAttempts = input.maximumAttempts ?? this.options.maximumAttempts ?? 4;
        let hasRefreshed = false;
        for (let attempt = 1; ; attempt += 1) {
            const token = input.isWithoutUser ? undefined : await this.auth.accessToken();
            const own = { "Idempotency-Key": key, Authorization: token && `Bearer ${token}` };
            const outcome = await this.attempt(name, input, own);
            if (!(outcome instanceof MartletError)) return outcome;
            if (outcome.code === "invalid-token" && token && !hasRefreshed) {
                hasRefreshed = true;
                await this.auth.refresh(token);
                continue;
            }
            const mayRepeat = outcome.status === 429 || (isRepeatable && outcome.isTemporary);
            const pause = outcome.retryAfterInSeconds ?? Math.min(8, 0.2 * 2 ** attempt) * Math.random();
            if (!mayRepeat || attempt >= maximumAttempts || pause > 30) throw outcome;
            this.options.log?.(`${name} failed: ${outcome.message}; retrying in ${pause.toFixed(1)} s`);
            await sleep(pause * 1_000, input.signal);
        }
    }

    private async attempt(name: string, input: Sending, own: Sending["headers"]): Promise<Response | MartletError> {
        const { timeoutInMilliseconds: time = 60_000, fetch: send = fetch } = this.options;
        const [method, template] = name.split(" ");
        const address = this.address(filledIn(template, input.path)) + queryString(input.query);
        const [body, type] = encoded(input.body);
        const headers = defined({ ...this.keys, ...type, ...own, ...input.headers });
        const line = linked(input.signal);
        const timer = setTimeout(line.end, time);
        try {
            const response = await send(address, { method, body, headers, signal: line.signal });
            if (!response.ok && response.status !== 304) return await MartletError.from(response);
            return input.isStream ? response : await whole(response);
        } catch (error) {
            if (input.signal?.aborted) throw error;
            return MartletError.network(line.signal.aborted ? `nothing within ${time} ms` : error);
        } finally {
            clearTimeout(timer);
            // The body of a stream is still to be read.
            if (!input.isStream) line.end();
        }
    }

    /** The address of a path of the app, or of the server if the path begins with a slash. */
    address(path: string): string {
        const { url, appKey } = this.options;
        return url.replace(/\/+$/, "") + (path.startsWith("/") ? path : `/api/${appKey}/${path}`);
    }

    private get keys(): Record<string, string | undefined> {
        const { masterKey, secret, environment } = this.options;
        const own = masterKey ? { "X-Martlet-Master-Key": masterKey }
            : { "X-Martlet-Secret": secret, "X-Device-Id": this.deviceId };
        return { ...own, "X-Martlet-Environment": environment };
    }

    /**
     * The events of a stream, such as `GET config/events`. It connects again by itself and continues after the last
     * event's id, until `signal` aborts or the server refuses.
     */
    async *follow(name: string, { path, query, signal }: Sending = {}): AsyncGenerator<ServerEvent> {
        let last: string | undefined;
        let pause = 1_000;
        for (let failures = 0; !signal?.aborted; failures += 1) {
            const line = linked(signal);
            try {
                // After the first event, its id takes precedence over `since`.
                const input = { path, query, headers: { "Last-Event-ID": last }, signal: line.signal };
                const response = await this.send(name, { ...input, isStream: true, maximumAttempts: 1 });
                for await (const event of serverEvents(response.body!, line.end)) {
                    failures = 0;
                    last = event.id ?? last;
                    pause = Number(event.retry ?? pause);
                    if (event.event) yield event;
                    if (signal?.aborted) return;
                }
            } catch (error) {
                if (signal?.aborted) return;
                if (!(error instanceof MartletError && error.isTemporary)) throw error;
                this.options.log?.(`The stream ${name} broke: ${error.message}; connecting again`);
            } finally {
                line.end();
            }
            await sleep(Math.min(pause * 2 ** failures, 30_000) * (0.5 + Math.random() / 2), signal).catch(() => {});
        }
    }
}

// Sessions

/** `expires`: when the access token expires, in milliseconds since 1970. */
export type Session = Pick<API.SignIn, "accessToken" | "refreshToken" | "user"> & { expires: number };

/** Keeps the session over restarts. */
export interface SessionStore {
    load(): Session | null | Promise<Session | null>;
    save(session: Session | null): void | Promise<void>;
}

/** The calls that sign a user in. */
export type SignInCall = {
    [C in keyof Calls]: unknown extends Calls[C]["answer"] ? never : API.SignIn extends Calls[C]["answer"] ? C : never;
}[keyof Calls];

/** The signed-in user. Tokens are refreshed by themselves, once for all callers and open tabs. */
export class Auth {
    private session: Session | null = null;
    private refreshing?: Promise<void>;
    private readonly listeners = new Set<(user: API.User | null) => void>();
    /** Fulfilled when a stored session has been loaded. */
    readonly ready: Promise<void>;

    constructor(private readonly martlet: Martlet, private readonly store: SessionStore) {
        const adopt = (session: Session | null) => void (this.session ??= session);
        const start = (error: unknown) => martlet.options.log?.(`Could not load the session: ${error}`);
        this.ready = new Promise<Session | null>((resolve) => resolve(store.load())).then(adopt, start);
    }

    get user(): API.User | null { return this.session?.user ?? null; }

    /** Calls `listener` when the user signs in, changes or signs out. Answers a function that ends that. */
    onChange(listener: (user: API.User | null) => void): () => void {
        this.listeners.add(listener);
        return () => void this.listeners.delete(listener);
    }

    /** Not signed in afterwards if the app requires a verified address. */
    signUp(fields: Calls["POST auth/signup"]["body"]): Promise<API.User> {
        return this.signIn("POST auth/signup", { body: fields });
    }

    /** @throws MartletError `second-factor-required`: ask for the code and send it with the same fields. */
    logIn(fields: Calls["POST auth/login"]["body"]): Promise<API.User> {
        return this.signIn("POST auth/login", { body: fields });
    }

    /** A user without a name. `upgrade` gives the account one later; its id and data stay. */
    logInAnonymously(): Promise<API.User> {
        return this.signIn("POST auth/anonymous", { body: {} } as Input<"POST auth/anonymous">);
    }

    /** Signs in by any call that does: mail, passkeys, Apple, Google and others. */
    async signIn<C extends SignInCall>(name: C, input: Input<C>): Promise<API.User> {
        await this.ready;
        const request = { ...(input as Sending), isWithoutUser: true };
        const answer = await this.martlet.callNamed<API.SignIn | { user: API.User }>(name, request);
        if ("accessToken" in answer) await this.set(sessionOf(answer));
        return answer.user;
    }

    async upgrade(fields: Calls["POST auth/me/upgrade"]["body"]): Promise<API.User> {
        return this.keep(await this.martlet.call("POST auth/me/upgrade", { body: fields }));
    }

    /** Replaces the profile, or the private data, or both. */
    async update(fields: Calls["PATCH auth/me"]["body"]): Promise<API.User> {
        return this.keep((await this.martlet.call("PATCH auth/me", { body: fields })) as API.User);
    }

    /** Ends the session here and on the server; here even if the server cannot be reached. */
    async logOut(): Promise<void> {
        await this.ready;
        if (!this.session) return;
        const failed = (error: unknown) => this.martlet.options.log?.(`Could not end the session there: ${error}`);
        await this.martlet.send("POST auth/logout", { maximumAttempts: 1 }).catch(failed);
        await this.set(null);
    }

    /** A token that is valid for at least half a minute; undefined if nobody is signed in. */
    async accessToken(): Promise<string | undefined> {
        await this.ready;
        const session = this.session;
        if (session && session.expires - Date.now() < 30_000) await this.refresh(session.accessToken);
        return this.session?.accessToken;
    }

    /** Replaces this token, unless somebody has done so already. */
    refresh(stale: string): Promise<void> {
        if (this.session?.accessToken !== stale) return Promise.resolve();
        // One tab at a time, where the browser supports locks.
        const locks = globalThis.navigator?.locks;
        const run = () => this.refreshNow();
        const start = () => (locks ? locks.request(`martlet ${this.martlet.options.appKey}`, run) : run());
        return (this.refreshing ??= start().finally(() => (this.refreshing = undefined)));
    }

    private async refreshNow(): Promise<void> {
        // Another tab may have used the token; using it twice would end the session.
        const [own, stored] = [this.session, await this.store.load()];
        const isNewer = stored && own && stored.user.id === own.user.id && stored.expires > own.expires;
        const session = isNewer ? stored : own;
        if (!session || this.session !== own) return;
        this.session = session;
        if (session.expires - Date.now() > 30_000 && isNewer) return;
        try {
            const input = { body: { refreshToken: session.refreshToken }, isRepeatable: true, isWithoutUser: true };
            const signIn = await this.martlet.callNamed<API.SignIn>("POST auth/refresh", input);
            if (this.session === session) await this.set(sessionOf(signIn));
        } catch (error) {
            const isOver = error instanceof MartletError && !error.isTemporary && error.status < 500;
            if (isOver && this.session === session) await this.set(null);
            throw error;
        }
    }

    private async keep(user: API.User): Promise<API.User> {
        if (this.session?.user.id === user.id) await this.set({ ...this.session, user });
        return user;
    }

    private async set(session: Session | null): Promise<void> {
        this.session = session;
        await this.store.save(session);
        for (const listener of this.listeners) listener(session?.user ?? null);
    }
}

const sessionOf = ({ accessToken, refreshToken, expiresIn, user }: API.SignIn): Session =>
    ({ accessToken, refreshToken, user, expires: Date.now() + expiresIn * 1_000 });

/** Keeps sessions in memory: signed out when the page or program ends. */
export function memoryStore(): SessionStore {
    let session: Session | null = null;
    return { load: () => session, save: (value) => void (session = value) };
}

/** Keeps sessions in `localStorage`. Scripts of the same origin can read them there. */
export const localStore = (name: string): SessionStore => ({
    load: () => JSON.parse(localStorage.getItem(name) ?? "null"),
    save: (value) => (value ? localStorage.setItem(name, JSON.stringify(value)) : localStorage.removeItem(name)),
});

const defaultStore = ({ appKey, environment = "live" }: Options): SessionStore =>
    globalThis.localStorage ? localStore(`martlet-session ${appKey} ${environment}`) : memoryStore();

// Objects and live queries

/** The readers and writers of an object or a file. */
type Grantees = { _readers?: string[]; _writers?: string[] };
/** What the server adds to each object. */
export type SystemFields = Pick<API.Object, "_id" | "created" | "updated" | "deleted" | "_version"> & Grantees;
export type Stored<T> = T & SystemFields;
export type New<T> = T & { _id?: string } & Grantees;

type Wanted<V> = V | (V extends ReadonlyArray<infer Element> ? Element : never) | null;
/** Fields with the value to equal, or with operators; `"a.b"` reaches into objects. */
export type Filter<T> = { [K in keyof T]?: Wanted<T[K]> | Operators<T[K]> }
    & { [K in keyof SystemFields | "$text"]?: unknown } & { [path: `${string}.${string}`]: unknown }
    & { [K in "$and" | "$or" | "$nor"]?: Filter<T>[] } & Pick<API.Filter, "$relatedTo">;
export type Operators<V> = Omit<API.Operators, "$eq" | "$ne" | "$in" | "$nin">
    & { $eq?: Wanted<V>; $ne?: Wanted<V>; $in?: Wanted<V>[]; $nin?: Wanted<V>[] };

/** New values of fields, or operations on them; `"a.b"` reaches into objects. */
export type Changes<T> = { [K in keyof T]?: T[K] | Operation } & { [path: `${string}.${string}`]: unknown } & Grantees;
/** Such as `{ __op: "Remove", objects: ["a"] }`. docs/api/objects.md lists the operations. */
export type Operation = { __op: string; amount?: unknown; objects?: unknown[] };
export const increment = (amount = 1): Operation => ({ __op: "Increment", amount });
export const addUnique = (...objects: unknown[]): Operation => ({ __op: "AddUnique", objects });
export const deleteField = (): Operation => ({ __op: "Delete" });

export const pointer = (className: string, objectId: string) => ({ __type: "Pointer" as const, className, objectId });
export const geoPoint = (latitude: number, longitude: number) => ({ __type: "GeoPoint" as const, latitude, longitude });
export const date = (value: Date) => ({ __type: "Date" as const, iso: value.toISOString() });

/** The parameters of a call that has to do with objects `T`. Lists take the place of values with commas between. */
type Query<C extends keyof Calls, T = unknown> = Calls[C] extends { query?: infer Q } ? {
    [K in keyof Q]: K extends "where" ? Filter<T> : K extends "order" ? string | string[]
        : K extends "keys" | "excludeKeys" | "include" | "readers" | "writers" ? string[] : Q[K];
} : never;

/** `order`: fields; `-` in front means descending. `cursor`: empty to begin, then that of the page before. */
export type ListOptions<T> = Query<"POST storage/query/{collection}", T>;
export type Page<T> = Omit<API.Envelope, "data" | "cursor"> & { data: Stored<T>[]; cursor?: string | null };

/** `ifUnchanged` refuses the write (`precondition-failed`) unless the object is as it was when you read it. */
export type Condition = { ifUnchanged?: SystemFields };

/** A change in a live stream. */
export interface Change<T> {
    /**
     * `open` comes first, and after each new connection; it has no object. `enter` and `leave`: the object began or
     * ceased to match, or to be readable.
     */
    kind: "open" | "create" | "enter" | "update" | "leave" | "delete";
    id?: string;
    object?: Stored<T>;
    /** Continues after this change, as `since`. */
    cursor: string;
}

/** `signal` ends the stream. */
export type LiveOptions<T> = Query<"GET live/{collection}", T> & { signal?: AbortSignal };

export class Collection<T extends object> {
    constructor(private readonly martlet: Martlet, readonly name: string) {}

    async list({ where, ...query }: ListOptions<T> = {}): Promise<Page<T>> {
        return this.call("POST storage/query/{collection}", { query, body: where ?? {}, isRepeatable: true });
    }

    /** All matches, read page by page. */
    async *each(options: Omit<ListOptions<T>, "cursor" | "skip"> = {}): AsyncGenerator<Stored<T>> {
        for (let cursor: Page<T>["cursor"] = ""; typeof cursor === "string"; ) {
            const page: Page<T> = await this.list({ ...options, cursor });
            for (const object of page.data) yield object;
            cursor = page.cursor;
        }
    }

    async count(where: Filter<T> = {} as Filter<T>): Promise<number> {
        return (await this.list({ where, limit: 0, count: true })).count;
    }

    /** Null if there is no such object, or it may not be read. */
    get(id: string, query: Query<"GET storage/{collection}/{id}"> = {}): Promise<Stored<T> | null> {
        return orNull("object-not-found", this.call("GET storage/{collection}/{id}", { query }, id));
    }

    /** Stores an object. One with its `_id` is replaced, unless `isNew` says that there must be none. */
    create(object: New<T>, { isNew }: { isNew?: boolean } = {}): Promise<Stored<T>> {
        const headers = { "If-None-Match": isNew ? "*" : undefined };
        return this.call("POST storage/{collection}", { body: object, headers });
    }

    /** Changes some fields. With `upsert` an object that does not exist is created. */
    update(id: string, changes: Changes<T>, options: Condition & { upsert?: boolean } = {}): Promise<Stored<T>> {
        const input = { body: changes, query: { upsert: options.upsert }, headers: ifMatch(options) };
        return this.call("PATCH storage/{collection}/{id}", input, id);
    }

    /** Deletes an object for good. False if there was none. */
    async delete(id: string, options: Condition = {}): Promise<boolean> {
        const answer = this.call("DELETE storage/{collection}/{id}", { headers: ifMatch(options) }, id);
        return (await orNull("object-not-found", answer)) !== null;
    }

    private call(name: string, input: Sending, id?: string): Promise<any> {
        return this.martlet.callNamed(name, { ...input, path: { collection: this.name, id } });
    }

    /**
     * The changes from now on, or after `since`. It reconnects by itself; no change is lost or repeated.
     *
     * @throws MartletError `cursor-expired`: read the objects again and follow without `since`.
     */
    async *live({ signal, ...query }: LiveOptions<T> = {}): AsyncGenerator<Change<T>> {
        const input = { path: { collection: this.name }, query, signal };
        for await (const { event, data, id } of this.martlet.follow("GET live/{collection}", input)) {
            const change = JSON.parse(data!);
            if (event === "error") throw new MartletError(change);
            yield { ...change, kind: event, cursor: id ?? "" };
        }
    }

    /** The objects that match, now and after each change. The array is a new one each time, in the order of ids. */
    async *watch(options: Omit<LiveOptions<T>, "since"> = {}): AsyncGenerator<Stored<T>[]> {
        const { signal, ...matching } = { limit: 1_000, ...options };
        while (!signal?.aborted) {
            const objects = new Map<string, Stored<T>>();
            let isComplete = false;
            try {
                for await (const change of this.live(options)) {
                    // The list is read after the stream began, so its objects may already be newer than a change.
                    if (isComplete && !apply(change, objects)) continue;
                    if (!isComplete)
                        for await (const object of this.each(matching)) objects.set(object._id, object);
                    isComplete = true;
                    if (signal?.aborted) return;
                    yield [...objects.values()].sort((a, b) => (a._id < b._id ? -1 : 1));
                }
            } catch (error) {
                if (!(error instanceof MartletError && error.code === "cursor-expired")) throw error;
            }
        }
    }
}

/** Whether the change made a difference. */
function apply<T>({ kind, id, object }: Change<T>, objects: Map<string, Stored<T>>): boolean {
    if (kind === "open" || id === undefined) return false;
    if (kind === "delete" || kind === "leave" || !object) return objects.delete(id);
    if ((objects.get(id)?._version ?? 0) >= object._version) return false;
    objects.set(id, object);
    return true;
}

/** The entity tag of an object, as the server's `ETag` has it: version and time of the last write. */
const ifMatch = ({ ifUnchanged }: Condition): Record<string, string> =>
    ifUnchanged ? { "If-Match": `"${ifUnchanged._version}-${Date.parse(ifUnchanged.updated)}"` } : {};

// Files

export type FileRecord = API.FileRecord;
export type UploadOptions = Query<"PUT upload/{path}"> & { signal?: AbortSignal };

export type ResumableOptions = UploadOptions & {
    /** The id of an upload that was begun earlier, as passed to `onBegin`. */
    transfer?: string;
    onBegin?: (transfer: string) => void;
    onProgress?: (sentBytes: number, totalBytes: number) => void;
    /** Default: 1 MiB. An upload has at most 1,000 parts. */
    partSizeInBytes?: number;
};

const tus = { "Tus-Resumable": "1.0.0" };

export class Files {
    constructor(private readonly martlet: Martlet) {}

    /** Stores the bytes at a path; an existing file gets a new version. */
    upload(path: string, data: Blob | BufferSource | string, { signal, ...query }: UploadOptions = {}) {
        const input = { path: { path }, query, signal, body: new Blob([data]), isRepeatable: true };
        return this.martlet.callNamed<FileRecord>("PUT upload/{path}", input);
    }

    /** Uploads in parts (tus 1.0). After a broken connection it continues with what is missing. */
    async uploadInParts(path: string, data: Blob, options: ResumableOptions = {}): Promise<FileRecord> {
        const { signal, onProgress, partSizeInBytes = 1 << 20 } = options;
        const id = options.transfer ?? (await this.begin(path, data, options));
        const offset = async (method: string, own = {}, body?: Blob) => {
            const input = { path: { id }, headers: { ...tus, ...own }, body, signal, isRepeatable: true };
            const response = await this.martlet.send(`${method} files/tus/{id}`, { ...input, maximumAttempts: 8 });
            return Number(response.headers.get("upload-offset"));
        };
        let done = options.transfer ? await offset("HEAD") : 0;
        while (done < data.size) {
            const headers = { "Upload-Offset": `${done}`, "Content-Type": "application/offset+octet-stream" };
            const part = data.slice(done, done + partSizeInBytes);
            done = await offset("PATCH", headers, part).catch((error) => {
                // The first attempt arrived, or a part of it, although its answer did not.
                if (error instanceof MartletError && error.code === "conflict") return offset("HEAD");
                throw error;
            });
            onProgress?.(done, data.size);
        }
        return (await this.info(path))!;
    }

    private async begin(path: string, data: Blob, { readers, writers, signal, onBegin }: ResumableOptions) {
        const values = { path, filetype: data.type || undefined, readers: readers?.join(), writers: writers?.join() };
        const metadata = Object.entries(defined(values)).map(([name, value]) => `${name} ${base64(value)}`).join();
        const headers = { ...tus, "Upload-Length": `${data.size}`, "Upload-Metadata": metadata };
        const response = await this.martlet.send("POST files/tus", { headers, signal, isRepeatable: true });
        const transfer = response.headers.get("location")!.split("/").pop()!;
        onBegin?.(transfer);
        return transfer;
    }

    /** The file, or its thumbnail; read it by `blob()`, `text()` or `body`. */
    download(path: string, { signal, ...query }: { thumbnail?: string; signal?: AbortSignal } = {}): Promise<Response> {
        return this.martlet.send("GET upload/{path}", { path: { path }, query, signal, isStream: true });
    }

    /** Null if there is no such file. */
    info(path: string): Promise<FileRecord | null> {
        const input = { path: { path }, query: { info: true } };
        return orNull("file-not-found", this.martlet.callNamed<FileRecord>("GET upload/{path}", input));
    }

    /** False if there was no such file. */
    async delete(path: string): Promise<boolean> {
        const answer = this.martlet.callNamed("DELETE upload/{path}", { path: { path }, isRepeatable: true });
        return (await orNull("file-not-found", answer)) !== null;
    }

    /** An address that opens the file without keys, for an image or a download. It works until it expires. */
    async link(path: string, options: Calls["POST upload-link/{path}"]["body"] = {}): Promise<string> {
        const input = { path: { path }, body: options, isRepeatable: true };
        return this.martlet.address((await this.martlet.call("POST upload-link/{path}", input)).path);
    }
}

// Details

/** Whether the server carries out this call once for an `Idempotency-Key`, however often it is sent. */
const takesIdempotencyKey = (name: string, body: any): boolean =>
    callsWithIdempotencyKey.has(name) && (name !== "POST storage/batch" || body?.transaction === true);

/** Puts values into the places of a path. Only `{path}` may have slashes; nothing may lead to another call. */
function filledIn(template: string, values: Record<string, unknown> = {}): string {
    return template.replace(/\{(\w+)\}/g, (_, name) => {
        const parts = String(values[name] ?? "").split("/");
        const isSplit = name !== "path" && parts.length > 1;
        if (isSplit || parts[0] === "" || parts.some((part) => /^\.\.?$/.test(part)))
            throw new TypeError(`${template}: ${name} cannot be "${values[name]}"`);
        return parts.map(encodeURIComponent).join("/");
    });
}

/** Lists become values with commas, objects JSON. */
function queryString(query: Record<string, unknown> = {}): string {
    const pairs = Object.entries(query).filter(([, value]) => value !== undefined).map(([name, value]) => {
        const text = Array.isArray(value) ? value.join(",") : typeof value === "object" ? JSON.stringify(value) : value;
        return `${name}=${encodeURIComponent(String(text))}`;
    });
    return pairs.length ? `?${pairs.join("&")}` : "";
}

function encoded(body: unknown): [BodyInit | undefined, Record<string, string>] {
    if (body === undefined) return [undefined, {}];
    const isBinary = [Blob, ArrayBuffer, FormData].some((type) => body instanceof type) || ArrayBuffer.isView(body);
    return isBinary ? [body as BodyInit, {}] : [JSON.stringify(body), { "Content-Type": "application/json" }];
}

const defined = (values: Record<string, string | undefined>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Record<string, string>;

/** The answer with its body read, so that a body that breaks off is a failure of the attempt. */
async function whole(response: Response): Promise<Response> {
    const { status, headers } = response;
    return new Response(status === 204 || status === 304 ? null : await response.arrayBuffer(), { status, headers });
}

/** The answer, or null if the call fails with this code. */
export const orNull = <Answer>(code: ErrorCode, answer: Promise<Answer>): Promise<Answer | null> =>
    answer.catch((error) => {
        if (error instanceof MartletError && error.code === code) return null;
        throw error;
    });

/** A signal that aborts with another one, or by `end`. */
function linked(signal?: AbortSignal) {
    const controller = new AbortController();
    const end = () => { signal?.removeEventListener("abort", end); controller.abort(); };
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end);
    return { signal: controller.signal, end };
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
        const stop = () => { clearTimeout(timer); reject(signal?.reason); };
        const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, milliseconds);
        if (signal?.aborted) stop();
        signal?.addEventListener("abort", stop, { once: true });
    });
}

/** A random UUID of version 4. Node 18 has no global `crypto`; ids must be unique, not secret. */
const uuid = () => "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replace(/x/g, () => (randomByte() & 15).toString(16));
const randomByte = () => globalThis.crypto?.getRandomValues(new Uint8Array(1))[0] ?? Math.random() * 256;

function storedDeviceId(appKey: string): string {
    const name = `martlet-device ${appKey}`;
    const id = globalThis.localStorage?.getItem(name) ?? uuid();
    globalThis.localStorage?.setItem(name, id);
    return id;
}

const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

export type ServerEvent = Partial<Record<"event" | "data" | "id" | "retry", string>>;

/** Server-sent events. One in 15 seconds comes in any case; after 45 seconds without, `end` is called. */
async function* serverEvents(body: ReadableStream<Uint8Array>, end: () => void): AsyncGenerator<ServerEvent> {
    const [reader, decoder] = [body.getReader(), new TextDecoder()];
    for (let rest = ""; ; ) {
        const timer = setTimeout(end, 45_000);
        const part = await reader.read().catch(MartletError.network).finally(() => clearTimeout(timer));
        if (part instanceof MartletError) throw part;
        if (part.done) return;
        const events = (rest + decoder.decode(part.value, { stream: true })).split(/\r?\n\r?\n/);
        rest = events.pop()!;
        for (const event of events) yield serverEvent(event);
    }
}

function serverEvent(text: string): ServerEvent {
    const event: Record<string, string> = {};
    for (const line of text.split(/\r?\n/)) {
        const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
        event[name] = name === "data" && event.data ? `${event.data}\n${value}` : value;
    }
    return event;
}

// BEGIN GENERATED for secret
/** The values that calls take and answer, by their names in docs/openapi.yaml. */
export declare namespace API {
    type CollectionName = string;
    /** A number, a string, a boolean, a Date, or `{"$relativeTime":"2 days ago"}`. */
    type Comparable = number | string | boolean | Record<string, unknown>;
    interface Count {
        count: number;
    }
    /**
     * A JSON object of at most 32 levels. Top-level names have 1 to 128 bytes, do not begin with `$` or `_`, and
     * contain no dots, backslashes or control characters. The server's own fields may be sent back. Of these, only
     * `_id`, `_readers` and `_writers` have an effect.
     */
    interface Document {
        _id?: ObjectID;
        [name: string]: unknown;
    }
    interface Envelope {
        config: LiveVersion;
        translation: LiveVersion;
        /** The number of objects in `data`, or of all matches with `count=true`. */
        count: number;
        data: Object[];
        /** The cursor of the next page, or null on the last one. Absent if the request has no `cursor`. */
        cursor?: string;
    }
    interface EventBatch {
        batch: EventMessage[];
        /**
         * When the batch was sent, by the client's clock. Corrects the times of its messages by the difference from the
         * server's clock.
         */
        sentAt?: string;
    }
    /** A message in the format of Segment's clients. Other members are ignored. */
    interface EventMessage {
        type?: "track" | "screen" | "page" | "identify" | "group" | "alias";
        /** Identifies the message; one that is sent again is stored only once. */
        messageId?: string;
        /** When the event happened (ISO 8601), by the client's clock; by default the time of receipt. */
        timestamp?: string;
        /** The user's id. Ids may have at most 512 bytes. */
        userId?: string | number;
        /** The device's id. */
        anonymousId?: string | number;
        /** `alias` only: the id by which the user was known before. */
        previousId?: string | number;
        /** `group` only: the group that the user belongs to. */
        groupId?: string | number;
        /** `track` only: the name of the event. */
        event?: string;
        /** `screen` and `page` only: the name of the screen or page. */
        name?: string;
        category?: string;
        properties?: Record<string, unknown>;
        /** `identify` and `group` only: facts about the user or the group. */
        traits?: Record<string, unknown>;
        /**
         * The members that are read: `app.version`, `app.build`, `os.name`, `os.version`, `device.manufacturer`,
         * `device.model`, `locale`, `location.country`, `configVersion`, `experiments`, `consent.categoryPreferences`.
         */
        context?: Record<string, unknown>;
        /** When the message was sent, by the client's clock; read only if the message is not part of a batch. */
        sentAt?: string;
    }
    interface FileRecord {
        /** The last part of the path. */
        name: string;
        path: string;
        /** In bytes. */
        size: number;
        /** Determined from the bytes. */
        contentType: string;
        /** In hexadecimal digits. */
        sha256: string;
        /** The id of the user who stored the file. Absent if no user did. */
        owner?: string;
        created: Time;
        updated: Time;
        /** Increases by one with each upload to the path. */
        _version: number;
        /** Absent if the file has no list of readers. */
        _readers?: string[];
        /** Absent if the file has no list of writers. */
        _writers?: string[];
        /** Absent if the file can be read. */
        state?: "scanning" | "refused";
        /** Why the file was refused, if the caller may know. */
        reason?: string;
        /** The field that the file is bound to, if the caller may know. */
        _object?: {
            className: string;
            objectId: string;
            key: string;
        };
    }
    /**
     * Fields, each with the value that it must equal or with operators. All members must match. `$and`, `$or` and
     * `$nor` take lists of filters. Queries describes the operators. A filter may have at most 8 levels, 100
     * conditions, 100 values in a list, 10 patterns and 4 queries of other objects.
     */
    interface Filter {
        $and?: Filters;
        $or?: Filters;
        $nor?: Filters;
        $relatedTo?: Record<string, unknown>;
        [name: string]: unknown;
    }
    type Filters = Filter[];
    interface Grants {
        count?: number;
        data?: Array<{
            client?: string;
            name?: string;
            scopes?: string[];
            created?: Time;
            updated?: Time;
        }>;
    }
    interface Identity {
        provider?: string;
        /** The user's id at the provider. */
        subject?: string;
        email?: string | null;
        created?: string;
        lastUsed?: string;
    }
    interface Installation {
        id?: string;
        platform?: string;
        push?: {
            service?: string;
            /** The first characters of the token. */
            token?: string;
            sandbox?: boolean;
            bundleId?: string | null;
            registered?: string | null;
        } | null;
        user?: string | null;
        appVersion?: string | null;
        osVersion?: string | null;
        deviceModel?: string | null;
        locale?: string | null;
        timeZone?: string | null;
        badge?: number;
        channels?: string[];
        attributes?: Record<string, unknown>;
        created?: string;
        updated?: string;
        seen?: string;
    }
    interface InstallationFields {
        /** Required with `PUT`. */
        platform?: "ios" | "macos" | "watchos" | "tvos" | "visionos" | "android" | "web";
        push?: PushAddress | null;
        appVersion?: string | null;
        osVersion?: string | null;
        deviceModel?: string | null;
        /** A BCP 47 language tag. */
        locale?: string | null;
        /** An IANA time zone, such as `Europe/Berlin`. */
        timeZone?: string | null;
        channels?: string[];
        /** At most 4 KiB. */
        attributes?: Record<string, unknown>;
        badge?: number;
    }
    /** The version most recently published in this environment of the app. Both members are null if none is live. */
    interface LiveVersion {
        /** The `version` in the document, or else its number. */
        version: string | null;
        date: string | null;
    }
    interface NewReceipt {
        id: string;
        state: "erasing";
        /** The token that is required to read the receipt. */
        token: string;
    }
    /** The document with the server's own fields. */
    interface Object {
        _id: ObjectID;
        created: Time;
        updated: Time;
        /** When the object was removed, or null. */
        deleted: Time | null;
        /** Increases by one with every write. */
        _version: number;
        [name: string]: unknown;
    }
    type ObjectID = string;
    interface ObjectReport {
        id?: string;
        collection?: CollectionName;
        object?: ObjectID;
        /** The user's id. */
        reporter?: string;
        reason?: string;
        created?: string;
        resolved?: string;
        resolution?: string;
        /** For one report only: the object as it was when it was reported. */
        copy?: Record<string, unknown>;
    }
    interface Operators {
        $eq?: unknown;
        $ne?: unknown;
        $gt?: Comparable;
        $gte?: Comparable;
        $lt?: Comparable;
        $lte?: Comparable;
        $in?: unknown[];
        $nin?: unknown[];
        $exists?: boolean;
        $regex?: string;
        $options?: string;
        $all?: unknown[];
        $containedBy?: unknown[];
        $text?: Record<string, unknown>;
        $nearSphere?: Record<string, unknown>;
        $maxDistance?: number;
        $maxDistanceInRadians?: number;
        $maxDistanceInKilometers?: number;
        $maxDistanceInMiles?: number;
        $within?: Record<string, unknown>;
        $geoWithin?: Record<string, unknown>;
        $geoIntersects?: Record<string, unknown>;
        $inQuery?: Record<string, unknown>;
        $notInQuery?: Record<string, unknown>;
        $select?: Record<string, unknown>;
        $dontSelect?: Record<string, unknown>;
    }
    interface OptOut {
        isOptedOut: boolean;
        since?: string;
    }
    interface Passkey {
        id?: string;
        name?: string;
        model?: string;
        backedUp?: boolean;
        transports?: string[];
        created?: string;
        lastUsed?: string | null;
    }
    /** An error (RFC 9457). */
    interface Problem {
        /** `urn:martlet:error:`, followed by the code. */
        type: string;
        title: string;
        status: number;
        /** What was wrong with this request, in a sentence for developers. */
        detail?: string;
        /** The error code. docs/ERRORS.md explains each code. */
        code:
            | "malformed-request"
            | "invalid-path"
            | "invalid-parameter"
            | "invalid-json"
            | "invalid-body"
            | "invalid-name"
            | "invalid-id"
            | "invalid-filter"
            | "unknown-operator"
            | "limit-exceeded"
            | "unauthorized"
            | "forbidden"
            | "not-found"
            | "object-not-found"
            | "collection-not-found"
            | "job-not-found"
            | "index-not-found"
            | "role-not-found"
            | "method-not-allowed"
            | "request-timeout"
            | "conflict"
            | "precondition-failed"
            | "payload-too-large"
            | "file-quota-exceeded"
            | "object-quota-exceeded"
            | "uri-too-long"
            | "unsupported-media-type"
            | "expectation-failed"
            | "idempotency-key-reused"
            | "precondition-required"
            | "too-many-requests"
            | "headers-too-large"
            | "internal-error"
            | "not-implemented"
            | "upstream-failed"
            | "unavailable"
            | "upstream-timeout"
            | "http-version-not-supported"
            | "staff-not-found"
            | "password-reset-required"
            | "confirmation-required"
            | "app-not-found"
            | "version-not-found"
            | "picture-not-found"
            | "key-not-found"
            | "invalid-token"
            | "sign-in-failed"
            | "second-factor-required"
            | "recent-sign-in-required"
            | "user-not-found"
            | "session-not-found"
            | "passkey-not-found"
            | "client-not-found"
            | "file-not-found"
            | "file-refused"
            | "file-scanning"
            | "upload-not-found"
            | "invalid-link"
            | "range-not-satisfiable"
            | "image-refused"
            | "cursor-expired"
            | "hook-not-found"
            | "delivery-not-found"
            | "hook-refused"
            | "hook-failed"
            | "document-not-found"
            | "document-refused"
            | "schedule-not-found"
            | "debug-file-not-found"
            | "issue-not-found"
            | "report-not-found"
            | "alert-not-found"
            | "question-too-large"
            | "ticket-not-found"
            | "comment-not-found"
            | "sprint-not-found"
            | "label-not-found"
            | "credential-not-found"
            | "push-credential-missing"
            | "installation-not-found"
            | "message-not-found"
            | "template-not-found"
            | "segment-not-found"
            | "rule-not-found";
        /** The field, parameter or path component that caused the error. */
        field?: string;
        /** If the request contained several items, those that caused the error. */
        rows?: Array<{
            row: number;
            field?: string;
            reason: string;
        }>;
        /**
         * The same as `detail`, or as `title` if there is no `detail`. Only under `/segment`, for clients that read
         * this member.
         */
        message?: string;
        requestId?: string;
    }
    /**
     * The push service that reaches the device, and the device's address there: `token` for `apns` and `fcm`,
     * `subscription` for `webpush`. `apns` requires `sandbox`.
     */
    interface PushAddress {
        service: "apns" | "fcm" | "webpush";
        token?: string;
        /** Whether the app was signed for development (`aps-environment`). */
        sandbox?: boolean;
        /** The app's bundle id. Without it, the first bundle id of the credential. */
        bundleId?: string;
        /** The result of the browser's `PushSubscription.toJSON()`. */
        subscription?: {
            endpoint?: string;
            expirationTime?: number | null;
            keys?: {
                p256dh?: string;
                auth?: string;
            };
        };
    }
    /** The installations that meet all of the given conditions. */
    interface PushAudience {
        everyone?: boolean;
        installations?: string[];
        users?: string[];
        channels?: string[];
        platforms?: Array<"ios" | "macos" | "watchos" | "tvos" | "visionos" | "android" | "web">;
        segment?: string;
        /** A condition on installations, in the syntax of flags. */
        where?: Record<string, unknown>;
        except?: {
            users?: string[];
        };
    }
    interface PushClientMessage {
        id: string;
        template: string;
        created: string;
    }
    /** The content of a push message. In templates, each text may contain `{{name}}` and `{{#name}}…{{/name}}`. */
    interface PushContent {
        title?: string;
        subtitle?: string;
        body?: string;
        localized?: {
            [name: string]: PushTexts;
        };
        variants?: Array<{
            name: string;
            weight?: number;
            title?: string;
            subtitle?: string;
            body?: string;
            localized?: Record<string, unknown>;
        }>;
        badge?: number | "increment";
        sound?: string;
        image?: string;
        category?: string;
        thread?: string;
        collapseId?: string;
        data?: Record<string, unknown>;
        silent?: boolean;
        priority?: "high" | "normal" | "low";
        pushType?:
            | "alert"
            | "background"
            | "complication"
            | "controls"
            | "fileprovider"
            | "liveactivity"
            | "location"
            | "mdm"
            | "pushtotalk"
            | "voip"
            | "widgets";
        liveActivity?: {
            event: "start" | "update" | "end";
            attributesType?: string;
            attributes?: unknown;
            contentState?: unknown;
            stale?: string;
            dismissal?: string;
        };
        interruptionLevel?: "passive" | "active" | "time-sensitive" | "critical";
        relevance?: number;
        /** How long the push service keeps the message, in seconds. */
        ttl?: number;
        atMostOnce?: boolean;
    }
    interface PushCounts {
        waiting?: number;
        accepted?: number;
        failed?: number;
        unknown?: number;
        cancelled?: number;
        opened?: number;
    }
    interface PushMessage {
        id?: string;
        state?: "scheduled" | "planning" | "sending" | "sent" | "cancelled" | "failed";
        isPaused?: boolean;
        author?: string;
        template?: string;
        content?: PushContent;
        audience?: PushAudience;
        timing?: PushTiming;
        due?: string;
        expires?: string;
        planned?: number;
        isPlanned?: boolean;
        problem?: string;
        created?: string;
        finished?: string;
        counts?: PushCounts;
        variants?: PushCounts[];
    }
    interface PushTexts {
        title?: string;
        subtitle?: string;
        body?: string;
    }
    interface PushTiming {
        localTime?: string;
        timeZone?: string;
        quietHours?: {
            from: string;
            to: string;
        };
        cap?: {
            count: number;
            seconds: number;
        };
    }
    /** The number of devices on each push service for which the app has no credential. Missing if there are none. */
    type PushWithoutCredential = Array<{
        service: "apns" | "fcm" | "webpush";
        devices: number;
        isExact: boolean;
    }>;
    interface Receipt {
        id: string;
        state: "erasing" | "complete";
        /** An object from service to kind of data to the number of erased items. */
        erased: {
            [name: string]: {
                [name: string]: number;
            };
        };
        progress: UserDataProgress | null;
        created: string;
        finished: string | null;
    }
    interface RemoteConfiguration {
        config: LiveVersion;
        /** The app version of the configuration; it can be lower than the requested one. */
        appVersion: string;
        theme: string | null;
        version: string;
        number: number;
        live: boolean;
        /** SHA-256 of `languagesList`, `mainSettings`, `colors` and `controllers`, in hexadecimal digits. */
        hash: string;
        themes: string[];
        languagesList: string[];
        mainSettings: Record<string, unknown>;
        colors: Array<Record<string, unknown>>;
        controllers: Array<Record<string, unknown>>;
        /** The variation that the client was given in each experiment. */
        experiments: {
            [name: string]: string;
        };
    }
    interface RoleInvitation {
        id?: string;
        role?: string;
        /** Only in the answer to its creation, and not if it was mailed. */
        code?: string;
        /** The address to which the code was mailed. */
        email?: string;
        /** The manager's id; absent if the app's server created it. */
        inviter?: string;
        uses?: number;
        usesLeft?: number;
        expires?: string;
        created?: string;
    }
    interface Sessions {
        count: number;
        data: Array<{
            id?: string;
            device?: string;
            current?: boolean;
            created?: string;
            lastUsed?: string;
        }>;
    }
    interface SignIn {
        /** A JWT of the type `at+jwt`, signed with ES256. */
        accessToken: string;
        /** The lifetime of the access token in seconds. */
        expiresIn: number;
        /** Can be used once. The session ends after 60 days without use. */
        refreshToken: string;
        user: User;
    }
    interface TBAnalyticsEvent {
        /** The id of the message; one that is sent again changes nothing. In lists, the id of the stored event. */
        _id?: string;
        created?: string;
        updated?: string;
        deleted?: null;
        _version?: number;
        type?: string;
        timeStamp?: string;
        className?: string;
        fileName?: string;
        method?: string;
        configVersion?: string;
        tags?: Record<string, unknown>;
    }
    interface TBAnalyticsNotification {
        /** An id chosen by the sender. A notification with a known id is not sent again. */
        _id?: string;
        /** The id of a user, or a list of ids. `userId` and `user` are accepted as well. */
        userID?: string | number | Array<string | number>;
        /**
         * The id or token of a device, or a list of them. `deviceId`, `device`, `uuid` and `UUID` are accepted as well.
         * Needs the master key.
         */
        deviceID?: string | string[];
        title?: string;
        message?: string;
        /** `badgeNumber` is accepted as well. */
        badge?: number;
    }
    interface TakenEvents {
        success: true;
        accepted: number;
        rejected?: Array<{
            index: number;
            field?: string;
            reason: string;
        }>;
    }
    /** A time in UTC, with milliseconds. */
    type Time = string;
    interface TranslationTable {
        language?: string;
        sourceLanguage?: string;
        fallback?: string[];
        /**
         * For each key a string, or an object of its forms: `plural`, `device` or `width`; or `value` and
         * `substitutions` if numbers inside the text have forms.
         */
        strings?: Record<string, unknown>;
        /** For each key whose text comes from a fallback, the language of that text. */
        languages?: {
            [name: string]: string;
        };
    }
    /** Other users see only `id`, `userName`, `profile` and `created`. */
    interface User {
        id: string;
        userName?: string | null;
        email?: string | null;
        emailVerified?: boolean;
        isAnonymous?: boolean;
        secondFactor?: boolean;
        /** Visible to everyone who uses the app; at most 16 KiB. */
        profile: Record<string, unknown>;
        /** Visible only to the user and the app's server; at most 16 KiB. */
        private?: Record<string, unknown>;
        disabled?: boolean;
        created?: string;
        updated?: string;
        lastSignIn?: string;
    }
    interface UserDataProgress {
        /** The number of finished parts. */
        done?: number;
        total?: number | null;
        /** The service whose part is in progress. */
        at?: string | null;
    }
    interface UserExport {
        id: string;
        state: "waiting" | "running" | "done" | "failed" | "cancelled";
        progress: UserDataProgress;
        sizeInBytes: number | null;
        error: {
            code?: string;
            detail?: string;
        } | null;
        created: string;
        finished: string | null;
        expires: string | null;
    }
}

/** The calls, by method and path; those of apps without `/api/{appKey}/` in front. */
export interface Calls {
    /** Lists objects of a collection. */
    "GET storage/{collection}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
        };
        query?: {
            /**
             * A Filter as JSON text. In live streams and the change feed, it may have at most 8 KiB and must not depend
             * on other objects or the current time.
             */
            where?: string;
            /**
             * 1 to 4 fields or dotted paths, separated by commas. A leading `-` means descending order. Objects with
             * equal values are ordered by `_id`, so that pages do not overlap.
             */
            order?: string;
            limit?: number;
            skip?: number;
            /**
             * Empty for the first page, and then the `cursor` of the previous page, with the same order and filter.
             * Cannot be combined with `skip`.
             */
            cursor?: string;
            /**
             * 1 to 100 top-level fields to return, separated by commas. The server's own fields are always returned.
             */
            keys?: string;
            /** 1 to 100 top-level fields to omit, separated by commas. */
            excludeKeys?: string;
            /**
             * Up to 20 paths to Pointers, separated by commas and at most 4 levels deep, or `*` for all. Each Pointer
             * is replaced by its object, or omitted if the object does not exist or the caller may not read it.
             */
            include?: string;
            /**
             * Whether `count` in the answer is the number of all matches instead of the number of objects in `data`.
             */
            count?: boolean;
            /** Whether to include removed objects. */
            deleted?: boolean;
        };
        answer: API.Envelope;
    };
    /** Stores an object. */
    "POST storage/{collection}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
        };
        headers?: {
            /** `*`: the `_id` must not exist yet. */
            "If-None-Match"?: string;
            /**
             * A request that is repeated with the same key within a day is carried out once and gets the same answer.
             */
            "Idempotency-Key"?: string;
        };
        /** The object, at most 1 MiB. */
        body: API.Document;
        answer: API.Object;
    };
    /** Lists objects of a collection, with `skip` and `limit` in the path. */
    "GET storage/{collection}/{skip}/{limit}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
            skip: number;
            limit: number;
        };
        query?: {
            /**
             * A Filter as JSON text. In live streams and the change feed, it may have at most 8 KiB and must not depend
             * on other objects or the current time.
             */
            where?: string;
            /**
             * 1 to 4 fields or dotted paths, separated by commas. A leading `-` means descending order. Objects with
             * equal values are ordered by `_id`, so that pages do not overlap.
             */
            order?: string;
            limit?: number;
            skip?: number;
            /**
             * Empty for the first page, and then the `cursor` of the previous page, with the same order and filter.
             * Cannot be combined with `skip`.
             */
            cursor?: string;
            /**
             * 1 to 100 top-level fields to return, separated by commas. The server's own fields are always returned.
             */
            keys?: string;
            /** 1 to 100 top-level fields to omit, separated by commas. */
            excludeKeys?: string;
            /**
             * Up to 20 paths to Pointers, separated by commas and at most 4 levels deep, or `*` for all. Each Pointer
             * is replaced by its object, or omitted if the object does not exist or the caller may not read it.
             */
            include?: string;
            /**
             * Whether `count` in the answer is the number of all matches instead of the number of objects in `data`.
             */
            count?: boolean;
            /** Whether to include removed objects. */
            deleted?: boolean;
        };
        answer: API.Envelope;
    };
    /** Returns an object. */
    "GET storage/{collection}/{id}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
            id: API.ObjectID;
        };
        query?: {
            /**
             * 1 to 100 top-level fields to return, separated by commas. The server's own fields are always returned.
             */
            keys?: string;
            /** 1 to 100 top-level fields to omit, separated by commas. */
            excludeKeys?: string;
            /**
             * Up to 20 paths to Pointers, separated by commas and at most 4 levels deep, or `*` for all. Each Pointer
             * is replaced by its object, or omitted if the object does not exist or the caller may not read it.
             */
            include?: string;
            /** Whether to include removed objects. */
            deleted?: boolean;
        };
        headers?: {
            /** The `ETag` that the object must have, or a list of them. */
            "If-Match"?: string;
            /** The `ETag` of an earlier answer; the answer is 304 if it is still the object's. */
            "If-None-Match"?: string;
        };
        answer: API.Object;
    };
    /** Replaces an object. */
    "PUT storage/{collection}/{id}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
            id: API.ObjectID;
        };
        headers?: {
            /** The `ETag` that the object must have, or a list of them. */
            "If-Match"?: string;
            /**
             * A request that is repeated with the same key within a day is carried out once and gets the same answer.
             */
            "Idempotency-Key"?: string;
        };
        /** The object, at most 1 MiB. */
        body: API.Document;
        answer: API.Object;
    };
    /** Sets the top-level fields in the body and keeps the others. */
    "PATCH storage/{collection}/{id}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
            id: API.ObjectID;
        };
        query?: {
            /** Whether to create the object if it does not exist. */
            upsert?: boolean;
        };
        headers?: {
            /** The `ETag` that the object must have, or a list of them. */
            "If-Match"?: string;
            /**
             * A request that is repeated with the same key within a day is carried out once and gets the same answer.
             */
            "Idempotency-Key"?: string;
        };
        /** The object, at most 1 MiB. */
        body: API.Document;
        answer: API.Object;
    };
    /** Deletes an object permanently. */
    "DELETE storage/{collection}/{id}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
            id: API.ObjectID;
        };
        headers?: {
            /** The `ETag` that the object must have, or a list of them. */
            "If-Match"?: string;
            /**
             * A request that is repeated with the same key within a day is carried out once and gets the same answer.
             */
            "Idempotency-Key"?: string;
        };
        answer: undefined;
    };
    /** Runs up to 100 writes in one request, either independently or as a transaction. */
    "POST storage/batch": {
        headers?: {
            /**
             * A request that is repeated with the same key within a day is carried out once and gets the same answer.
             */
            "Idempotency-Key"?: string;
        };
        body: {
            transaction?: boolean;
            requests: Array<{
                method: "POST" | "PUT" | "PATCH" | "DELETE";
                path: string;
                body?: Record<string, unknown>;
                ifMatch?: string;
            }>;
        };
        answer: {
            count: number;
            data: Array<{
                status: number;
                body?: Record<string, unknown>;
            }>;
        };
    };
    /** Stores several objects, all or none. */
    "POST storage/all/{collection}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
        };
        headers?: {
            /**
             * A request that is repeated with the same key within a day is carried out once and gets the same answer.
             */
            "Idempotency-Key"?: string;
        };
        /** Up to 1,000 objects, each of at most 1 MiB, 16 MiB in all. */
        body: API.Document[];
        answer: API.Envelope;
    };
    /** Lists the objects that match a filter in the body. */
    "POST storage/query/{collection}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
        };
        query?: {
            /**
             * A Filter as JSON text. In live streams and the change feed, it may have at most 8 KiB and must not depend
             * on other objects or the current time.
             */
            where?: string;
            /**
             * 1 to 4 fields or dotted paths, separated by commas. A leading `-` means descending order. Objects with
             * equal values are ordered by `_id`, so that pages do not overlap.
             */
            order?: string;
            limit?: number;
            skip?: number;
            /**
             * Empty for the first page, and then the `cursor` of the previous page, with the same order and filter.
             * Cannot be combined with `skip`.
             */
            cursor?: string;
            /**
             * 1 to 100 top-level fields to return, separated by commas. The server's own fields are always returned.
             */
            keys?: string;
            /** 1 to 100 top-level fields to omit, separated by commas. */
            excludeKeys?: string;
            /**
             * Up to 20 paths to Pointers, separated by commas and at most 4 levels deep, or `*` for all. Each Pointer
             * is replaced by its object, or omitted if the object does not exist or the caller may not read it.
             */
            include?: string;
            /**
             * Whether `count` in the answer is the number of all matches instead of the number of objects in `data`.
             */
            count?: boolean;
            /** Whether to include removed objects. */
            deleted?: boolean;
        };
        /** A filter of at most 64 KiB. If `where` is given, both must match. */
        body: API.Filter;
        answer: API.Envelope;
    };
    /** Lists the objects that match a filter in the body, with `skip` and `limit` in the path. */
    "POST storage/query/{collection}/{skip}/{limit}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
            skip: number;
            limit: number;
        };
        query?: {
            /**
             * A Filter as JSON text. In live streams and the change feed, it may have at most 8 KiB and must not depend
             * on other objects or the current time.
             */
            where?: string;
            /**
             * 1 to 4 fields or dotted paths, separated by commas. A leading `-` means descending order. Objects with
             * equal values are ordered by `_id`, so that pages do not overlap.
             */
            order?: string;
            limit?: number;
            skip?: number;
            /**
             * Empty for the first page, and then the `cursor` of the previous page, with the same order and filter.
             * Cannot be combined with `skip`.
             */
            cursor?: string;
            /**
             * 1 to 100 top-level fields to return, separated by commas. The server's own fields are always returned.
             */
            keys?: string;
            /** 1 to 100 top-level fields to omit, separated by commas. */
            excludeKeys?: string;
            /**
             * Up to 20 paths to Pointers, separated by commas and at most 4 levels deep, or `*` for all. Each Pointer
             * is replaced by its object, or omitted if the object does not exist or the caller may not read it.
             */
            include?: string;
            /**
             * Whether `count` in the answer is the number of all matches instead of the number of objects in `data`.
             */
            count?: boolean;
            /** Whether to include removed objects. */
            deleted?: boolean;
        };
        /** A filter of at most 64 KiB. If `where` is given, both must match. */
        body: API.Filter;
        answer: API.Envelope;
    };
    /** Marks an object as removed. */
    "POST storage/remove/{collection}/{id}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
            id: API.ObjectID;
        };
        headers?: {
            /** The `ETag` that the object must have, or a list of them. */
            "If-Match"?: string;
            /**
             * A request that is repeated with the same key within a day is carried out once and gets the same answer.
             */
            "Idempotency-Key"?: string;
        };
        /** Ignored. */
        body?: Record<string, unknown>;
        answer: API.Object;
    };
    /** Returns counts, sums, averages, minima and maxima of the matching objects, by group. */
    "POST storage/aggregate/{collection}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
        };
        body: Record<string, unknown>;
        answer: API.Envelope;
    };
    /** Lists the distinct values of a field. */
    "POST storage/distinct/{collection}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
        };
        body: Record<string, unknown>;
        answer: API.Envelope;
    };
    /** Streams the changes in a collection as server-sent events. */
    "GET live/{collection}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
        };
        query?: {
            /**
             * A Filter as JSON text. In live streams and the change feed, it may have at most 8 KiB and must not depend
             * on other objects or the current time.
             */
            where?: string;
            /**
             * 1 to 100 top-level fields to return, separated by commas. The server's own fields are always returned.
             */
            keys?: string;
            /** The cursor after which the stream begins. */
            since?: string;
        };
        headers?: {
            /** The id of the last event received. Takes precedence over `since`. */
            "Last-Event-ID"?: string;
        };
        answer: unknown;
    };
    /** Returns what changed in a collection since a cursor, or all objects if there is no cursor. */
    "GET changes/{collection}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
        };
        query?: {
            /** The `cursor` of the previous answer. */
            since?: string;
            /**
             * A Filter as JSON text. In live streams and the change feed, it may have at most 8 KiB and must not depend
             * on other objects or the current time.
             */
            where?: string;
            /**
             * 1 to 100 top-level fields to return, separated by commas. The server's own fields are always returned.
             */
            keys?: string;
            limit?: number;
            /** The maximum time to wait for a change, in seconds. */
            wait?: number;
        };
        answer: {
            changed: API.Object[];
            deleted: string[];
            cursor: string;
            more: boolean;
        };
    };
    /** Reports an object to the app's moderators. */
    "POST storage/{collection}/{id}/report": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
            id: API.ObjectID;
        };
        body: {
            reason: string;
        };
        answer: API.ObjectReport;
    };
    /** Returns a role with a page of its members, ordered by name. */
    "GET roles/{role}": {
        path: {
            /** The role's name: 1 to 64 letters, digits, spaces, `_` or `-`. */
            role: string;
        };
        query?: {
            /** The last member of the previous page. */
            after?: string;
            limit?: number;
        };
        answer: unknown;
    };
    /** Adds and removes members of a role. For the app's server, creates the role if it is missing. */
    "PUT roles/{role}": {
        path: {
            /** The role's name: 1 to 64 letters, digits, spaces, `_` or `-`. */
            role: string;
        };
        body: {
            add?: string[];
            remove?: string[];
            /**
             * For the app's server: users' ids and `role:<name>`, which replace the former managers. Absent means no
             * change.
             */
            managers?: string[];
        };
        answer: undefined;
    };
    /** Removes the signed-in user from the role. */
    "DELETE roles/{role}/members/me": {
        path: {
            /** The role's name: 1 to 64 letters, digits, spaces, `_` or `-`. */
            role: string;
        };
        answer: undefined;
    };
    /** Lists the open invitations to a role, without their codes. */
    "GET roles/{role}/invitations": {
        path: {
            /** The role's name: 1 to 64 letters, digits, spaces, `_` or `-`. */
            role: string;
        };
        answer: unknown;
    };
    /** Invites users to become members of a role, by a code. */
    "POST roles/{role}/invitations": {
        path: {
            /** The role's name: 1 to 64 letters, digits, spaces, `_` or `-`. */
            role: string;
        };
        body: {
            /** How many users can join with it. */
            uses?: number;
            /** How long it is valid. */
            days?: number;
            /** Where to mail the code. `uses` must be 1. */
            email?: string;
            /** The language of the mail (BCP 47). */
            language?: string;
            /** The mail's link: one of the app's `linkURLs`, by default the first. */
            link?: string;
        };
        answer: API.RoleInvitation;
    };
    /** Revokes an invitation. Users who have joined with it stay members. */
    "DELETE roles/{role}/invitations/{id}": {
        path: {
            /** The role's name: 1 to 64 letters, digits, spaces, `_` or `-`. */
            role: string;
            id: string;
        };
        answer: undefined;
    };
    /** Lists the signed-in user's roles by name, including those inherited through other roles. */
    "GET auth/me/roles": {
        answer: {
            count?: number;
            data?: string[];
        };
    };
    /** Makes the signed-in user a member of a role, by an invitation's code. */
    "POST auth/me/roles": {
        body: {
            code: string;
        };
        answer: {
            role?: string;
        };
    };
    /** Lists the users whom the signed-in user has blocked, latest first. */
    "GET auth/me/blocks": {
        answer: {
            count: number;
            data: Array<{
                user: string;
                created: string;
            }>;
        };
    };
    /** Blocks another user for the signed-in user. */
    "PUT auth/me/blocks/{user}": {
        path: {
            /** The other user's id. */
            user: string;
        };
        answer: undefined;
    };
    /** Unblocks another user for the signed-in user. */
    "DELETE auth/me/blocks/{user}": {
        path: {
            /** The other user's id. */
            user: string;
        };
        answer: undefined;
    };
    /** Lists the files and directories in the root directory. */
    "GET upload": {
        query?: {
            /** The maximum number of entries, from 1 to 1,000; 100 by default. */
            limit?: number;
            /** The `next` of the previous page. */
            after?: string;
        };
        answer: unknown;
    };
    /** Stores a file in the root directory. */
    "POST upload": {
        query?: {
            /** The file's name. Not needed if a multipart body has it. */
            name?: string;
            /** The grantees that may read the file, separated by commas. */
            readers?: string;
            /** The grantees that may write the file, separated by commas. */
            writers?: string;
        };
        body: BodyInit;
        answer: API.FileRecord;
    };
    /** Returns a file, a range of it, its thumbnail or its record, or lists a directory (a path with a final slash). */
    "GET upload/{path}": {
        path: {
            path: string;
        };
        query?: {
            /** Returns the thumbnail of this size instead of the file. */
            thumbnail?: string;
            /** If `true`, returns the file's record instead of its contents. */
            info?: boolean;
            /** The maximum number of entries, from 1 to 1,000; 100 by default. */
            limit?: number;
            /** The `next` of the previous page. */
            after?: string;
        };
        headers?: {
            /** A range of bytes, such as `bytes=0-1023`. If there are several, the whole file is returned. */
            Range?: string;
            /** The entity tags of the versions that may be returned, or `*`. */
            "If-Match"?: string;
            /** The entity tags of the versions that the client already has. */
            "If-None-Match"?: string;
        };
        answer: unknown;
    };
    /** Stores a file in a directory. The body is the file, or `multipart/form-data` with one file. */
    "POST upload/{path}": {
        path: {
            path: string;
        };
        query?: {
            /** The file's name, if it is neither in the path nor in a multipart body. */
            name?: string;
            /** The grantees that may read the file, separated by commas. */
            readers?: string;
            /** The grantees that may write the file, separated by commas. */
            writers?: string;
        };
        body: BodyInit;
        answer: API.FileRecord;
    };
    /** Stores the body as a file at this path. */
    "PUT upload/{path}": {
        path: {
            path: string;
        };
        query?: {
            /** The grantees that may read the file, separated by commas. */
            readers?: string;
            /** The grantees that may write the file, separated by commas. */
            writers?: string;
        };
        headers?: {
            /** The entity tags of the versions that may be replaced, or `*`. */
            "If-Match"?: string;
            /** If `*`, refuses to replace an existing file. */
            "If-None-Match"?: string;
        };
        body: BodyInit;
        answer: API.FileRecord;
    };
    /** Changes the readers and writers of a file, or binds it to a field of an object. */
    "PATCH upload/{path}": {
        path: {
            path: string;
        };
        body: {
            _readers?: string[];
            _writers?: string[];
            /** The field that the file is bound to, or null for none. */
            _object?: {
                className: string;
                objectId: string;
                key: string;
            } | null;
        };
        answer: API.FileRecord;
    };
    /** Deletes a file. */
    "DELETE upload/{path}": {
        path: {
            path: string;
        };
        headers?: {
            /** The entity tags of the versions that may be deleted, or `*`. */
            "If-Match"?: string;
        };
        answer: undefined;
    };
    /** Returns a file that a field of an object names, a range of it or its thumbnail. */
    "GET storage/{collection}/{id}/files/{key}": {
        path: {
            /** The collection's name. `aggregate`, `all`, `batch`, `distinct`, `query` and `remove` are reserved. */
            collection: API.CollectionName;
            id: API.ObjectID;
            /** The name of the field, whose value is a File or contains Files. */
            key: string;
        };
        query?: {
            /** The path of the file, if the field names several; the first one by default. */
            path?: string;
            /** Returns the thumbnail of this size instead of the file. */
            thumbnail?: string;
        };
        headers?: {
            /** A range of bytes, such as `bytes=0-1023`. If there are several, the whole file is returned. */
            Range?: string;
            /** The entity tags of the versions that may be returned, or `*`. */
            "If-Match"?: string;
            /** The entity tags of the versions that the client already has. */
            "If-None-Match"?: string;
        };
        answer: unknown;
    };
    /** Lists the uploads to all files, newest first. */
    "GET upload-history": {
        query?: {
            /** The maximum number of uploads, from 1 to 1,000; 100 by default. */
            limit?: number;
            /** The `next` of the previous page. */
            before?: number;
        };
        answer: unknown;
    };
    /** Lists the uploads to a file, or to all files below a directory, newest first. */
    "GET upload-history/{path}": {
        path: {
            path: string;
        };
        query?: {
            /** The maximum number of uploads, from 1 to 1,000; 100 by default. */
            limit?: number;
            /** The `next` of the previous page. */
            before?: number;
        };
        answer: unknown;
    };
    /** Creates a signed link that opens a file without the app's secret. */
    "POST upload-link/{path}": {
        path: {
            path: string;
        };
        body: {
            expiresInSeconds?: number;
            thumbnail?: string;
        };
        answer: {
            path: string;
            expires: API.Time;
        };
    };
    /** Begins a resumable upload (tus 1.0, extension `creation`). */
    "POST files/tus": {
        headers: {
            /** The protocol version: `1.0.0`. */
            "Tus-Resumable": string;
            /** The size of the file in bytes. */
            "Upload-Length": string;
            /** `path` or `filename`, and optionally `filetype`, `readers` and `writers`, with values in base64. */
            "Upload-Metadata": string;
        };
        /** Ignored: send the contents with `PATCH`. */
        body?: BodyInit;
        answer: unknown;
    };
    /** Appends bytes to a resumable upload or cancels it, for clients that can only send `POST`. */
    "POST files/tus/{id}": {
        path: {
            id: string;
        };
        headers: {
            /** `PATCH` for `continueTransfer`, `DELETE` for `deleteTransfer`. */
            "X-HTTP-Method-Override": "PATCH" | "DELETE";
        };
        body?: BodyInit;
        answer: undefined;
    };
    /** Appends bytes to a resumable upload. */
    "PATCH files/tus/{id}": {
        path: {
            id: string;
        };
        headers: {
            /** The protocol version: `1.0.0`. */
            "Tus-Resumable": string;
            /** The offset of the body's first byte, which must be the number of bytes received so far. */
            "Upload-Offset": string;
        };
        body: BodyInit;
        answer: undefined;
    };
    /** Cancels a resumable upload (tus 1.0, extension `termination`). */
    "DELETE files/tus/{id}": {
        path: {
            id: string;
        };
        headers: {
            /** The protocol version: `1.0.0`. */
            "Tus-Resumable": string;
        };
        answer: undefined;
    };
    /** Returns how much of a resumable upload has arrived. */
    "HEAD files/tus/{id}": {
        path: {
            id: string;
        };
        headers: {
            /** The protocol version: `1.0.0`. */
            "Tus-Resumable": string;
        };
        answer: unknown;
    };
    /** Creates a user with a password, and signs the user in. */
    "POST auth/signup": {
        body: {
            userName?: string;
            email?: string;
            password?: string;
            profile?: Record<string, unknown>;
            private?: Record<string, unknown>;
            device?: string;
            /** Required if the app's settings have `inviteOnly`. */
            invitation?: string;
            /** The language of mail to the user (BCP 47). The default comes from `Accept-Language`. */
            language?: string;
        };
        answer: API.SignIn;
    };
    /** Creates a user without name and password, and signs the user in. */
    "POST auth/anonymous": {
        body?: {
            profile?: Record<string, unknown>;
            private?: Record<string, unknown>;
            device?: string;
        };
        answer: API.SignIn;
    };
    /** Signs a user in with a password. */
    "POST auth/login": {
        body: {
            userName?: string;
            email?: string;
            password?: string;
            /** A code from the authenticator app, or a recovery code. */
            code?: string;
            device?: string;
        };
        answer: API.SignIn;
    };
    /** Exchanges a refresh token for new tokens. */
    "POST auth/refresh": {
        body: {
            refreshToken?: string;
        };
        answer: API.SignIn;
    };
    /** Ends the session of the access token. */
    "POST auth/logout": {
        answer: undefined;
    };
    /** Returns the options for signing in with a passkey. */
    "POST auth/passkeys/options": {
        answer: Record<string, unknown>;
    };
    /** Signs in with a passkey. */
    "POST auth/passkeys/login": {
        body: {
            /** The credential as returned by `PublicKeyCredential.toJSON()`. */
            credential?: Record<string, unknown>;
            code?: string;
            device?: string;
        };
        answer: API.SignIn;
    };
    /** Returns the options for creating a passkey for a new user. */
    "POST auth/passkeys/signup/options": {
        body: {
            userName?: string;
            email?: string;
        };
        answer: Record<string, unknown>;
    };
    /** Creates a user with a passkey instead of a password, and signs the user in. */
    "POST auth/passkeys/signup": {
        body: {
            /** The credential as returned by `PublicKeyCredential.toJSON()`. */
            credential?: Record<string, unknown>;
            userName?: string;
            email?: string;
            name?: string;
            profile?: Record<string, unknown>;
            private?: Record<string, unknown>;
            device?: string;
            invitation?: string;
            language?: string;
        };
        answer: API.SignIn | {
            user?: API.User;
        };
    };
    /** Returns the options for creating a passkey for the signed-in user. */
    "POST auth/me/passkeys/options": {
        body?: {
            password?: string;
            code?: string;
        };
        answer: Record<string, unknown>;
    };
    /** Lists the signed-in user's passkeys, oldest first. */
    "GET auth/me/passkeys": {
        answer: {
            count?: number;
            data?: API.Passkey[];
        };
    };
    /** Adds a passkey to the signed-in user. */
    "POST auth/me/passkeys": {
        body: {
            /** The credential as returned by `PublicKeyCredential.toJSON()`. */
            credential?: Record<string, unknown>;
            name?: string;
        };
        answer: API.Passkey;
    };
    /** Renames one of the signed-in user's passkeys. */
    "PATCH auth/me/passkeys/{id}": {
        path: {
            id: string;
        };
        body: {
            name?: string;
        };
        answer: API.Passkey;
    };
    /** Deletes one of the signed-in user's passkeys. */
    "DELETE auth/me/passkeys/{id}": {
        path: {
            id: string;
        };
        body?: {
            password?: string;
        };
        answer: undefined;
    };
    /** Returns the signed-in user. */
    "GET auth/me": {
        answer: API.User;
    };
    /** Changes the signed-in user's name or profiles. */
    "PATCH auth/me": {
        body: {
            userName?: string;
            /** Required with `userName` if the user has a password. */
            password?: string;
            profile?: Record<string, unknown>;
            private?: Record<string, unknown>;
        };
        answer: API.User;
    };
    /** Deletes the signed-in user and everything that is stored about the user. */
    "DELETE auth/me": {
        body?: {
            password?: string;
        };
        answer: API.NewReceipt;
    };
    /** Gives a user without a password a name or address, and a password. */
    "POST auth/me/upgrade": {
        body: {
            userName?: string;
            email?: string;
            password?: string;
        };
        answer: API.User;
    };
    /** Changes the signed-in user's password. */
    "PUT auth/me/password": {
        body: {
            password?: string;
            newPassword?: string;
        };
        answer: undefined;
    };
    /** Changes the signed-in user's e-mail address. */
    "PUT auth/me/email": {
        body: {
            email?: string;
            password?: string;
        };
        answer: API.User;
    };
    /** Creates a secret for an authenticator app. */
    "POST auth/me/totp": {
        body?: {
            password?: string;
        };
        answer: {
            secret?: string;
            uri?: string;
        };
    };
    /** Removes the signed-in user's second factor. */
    "DELETE auth/me/totp": {
        body: {
            password?: string;
            code?: string;
        };
        answer: undefined;
    };
    /** Activates the second factor. */
    "POST auth/me/totp/confirm": {
        body: {
            code?: string;
        };
        answer: {
            recoveryCodes?: string[];
        };
    };
    /** Replaces all recovery codes with ten new ones. */
    "POST auth/me/totp/recovery-codes": {
        body: {
            password?: string;
            code?: string;
        };
        answer: {
            recoveryCodes?: string[];
        };
    };
    /** Lists the signed-in user's open sessions. */
    "GET auth/sessions": {
        answer: API.Sessions;
    };
    /** Ends the signed-in user's sessions. */
    "DELETE auth/sessions": {
        query?: {
            keep?: "current";
        };
        answer: API.Count;
    };
    /** Ends one of the signed-in user's sessions. */
    "DELETE auth/sessions/{id}": {
        path: {
            id: string;
        };
        answer: undefined;
    };
    /** Returns a user. */
    "GET auth/users/{id}": {
        path: {
            id: string;
        };
        answer: API.User;
    };
    /** Returns the state of a user's deletion. */
    "GET auth/receipts/{id}": {
        path: {
            id: string;
        };
        headers: {
            /** The `token` from the answer to the deletion. */
            "Receipt-Token": string;
        };
        answer: API.Receipt;
    };
    /** Returns the state of the signed-in user's latest export. */
    "GET auth/me/export": {
        answer: API.UserExport;
    };
    /** Starts an export of everything that is stored about the signed-in user. */
    "POST auth/me/export": {
        answer: API.UserExport;
    };
    /** Cancels the signed-in user's export, or deletes a finished one. */
    "DELETE auth/me/export": {
        answer: undefined;
    };
    /** Downloads the signed-in user's finished export. */
    "GET auth/me/export/content": {
        answer: unknown;
    };
    /** Mails the signed-in user a code and a link that verify the address. */
    "POST auth/email/verify": {
        body?: {
            /** The language of the mail (BCP 47). The default comes from `Accept-Language`. */
            language?: string;
            /** One of the app's `linkURLs`; by default the first. */
            link?: string;
        };
        answer: unknown;
    };
    /** Verifies an address with the code or link that was mailed to it. */
    "POST auth/email/verify/confirm": {
        body: {
            /** The token from the link. */
            token?: string;
            email?: string;
            /** The eight-digit code from the mail, instead of `token`. Requires `email`. */
            mailCode?: string;
        };
        answer: undefined;
    };
    /** Completes a change of a user's address. */
    "POST auth/email/change/confirm": {
        body: {
            /** The token from the link. */
            token?: string;
            /** The eight-digit code from the mail, instead of `token`; with it, the user must be signed in. */
            mailCode?: string;
        };
        answer: undefined;
    };
    /** Mails a code and a link for setting a new password. */
    "POST auth/password/reset": {
        body: {
            email?: string;
            /** The language of the mail (BCP 47). The default comes from `Accept-Language`. */
            language?: string;
            /** One of the app's `linkURLs`; by default the first. */
            link?: string;
        };
        answer: unknown;
    };
    /** Sets a new password with the code or link from a mail. */
    "POST auth/password/reset/confirm": {
        body: {
            /** The token from the link. */
            token?: string;
            email?: string;
            /** The eight-digit code from the mail, instead of `token`. Requires `email`. */
            mailCode?: string;
            newPassword?: string;
        };
        answer: undefined;
    };
    /** Mails a code and a link for signing in. */
    "POST auth/login/mail": {
        body: {
            email?: string;
            /** The language of the mail (BCP 47). The default comes from `Accept-Language`. */
            language?: string;
            /** One of the app's `linkURLs`; by default the first. */
            link?: string;
        };
        answer: unknown;
    };
    /** Signs in with the code or link from a mail. */
    "POST auth/login/mail/confirm": {
        body: {
            /** The token from the link. */
            token?: string;
            email?: string;
            /** The eight-digit code from the mail, instead of `token`. Requires `email`. */
            mailCode?: string;
            /** A code from the authenticator app, or a recovery code. */
            code?: string;
            device?: string;
        };
        answer: API.SignIn;
    };
    /** Signs in with an id token that the app received on the device. */
    "POST auth/idtoken": {
        body: {
            provider?: string;
            idToken?: string;
            /**
             * The nonce whose SHA-256, in hexadecimal digits, is in the id token. Required unless the provider has
             * `nonceRequired: false`.
             */
            nonce?: string;
            /** Apple's authorization code. With it, Apple's token can be revoked when the user is deleted. */
            authorizationCode?: string;
            /** The name of a new user, which Apple gives only to the app. Used if the id token has none. */
            name?: string;
            secondFactorCode?: string;
            device?: string;
        };
        answer: API.SignIn;
    };
    /** Completes a sign-in at a provider. */
    "POST auth/oauth/finish": {
        body: {
            code?: string;
            codeVerifier?: string;
            secondFactorCode?: string;
            device?: string;
        };
        answer: API.SignIn;
    };
    /** Starts a user's sign-in at a provider. */
    "POST auth/oauth/{name}/start": {
        path: {
            /** The provider's name in the app's settings. */
            name: string;
        };
        body: {
            redirectURL?: string;
            /** The SHA-256 of the code verifier in base64url (`S256` in RFC 7636). */
            codeChallenge?: string;
        };
        answer: {
            url?: string;
            state?: string;
        };
    };
    /** Lists the signed-in user's identities at providers. */
    "GET auth/me/identities": {
        answer: {
            count?: number;
            data?: API.Identity[];
        };
    };
    /** Links an identity at a provider to the signed-in user. */
    "POST auth/me/identities": {
        body: {
            provider?: string;
            idToken?: string;
            /**
             * The nonce whose SHA-256, in hexadecimal digits, is in the id token. Required unless the provider has
             * `nonceRequired: false`.
             */
            nonce?: string;
            /** Apple's authorization code. With it, Apple's token can be revoked when the user is deleted. */
            authorizationCode?: string;
            /** The user's name, which Apple gives only to the app. Used if the id token has none. */
            name?: string;
            code?: string;
            codeVerifier?: string;
            password?: string;
        };
        answer: API.User;
    };
    /** Removes one of the signed-in user's identities at providers. */
    "DELETE auth/me/identities/{name}": {
        path: {
            /** The provider's name in the app's settings. */
            name: string;
        };
        body?: {
            password?: string;
        };
        answer: undefined;
    };
    /** Lists the applications that the signed-in user has granted access, with their scopes. */
    "GET auth/me/grants": {
        answer: API.Grants;
    };
    /** Withdraws the signed-in user's grant to an application. */
    "DELETE auth/me/grants/{client}": {
        path: {
            client: string;
        };
        answer: undefined;
    };
    /** Calls a function hook and returns its result. */
    "POST functions/{name}": {
        path: {
            /** The hook's name: a letter, then up to 62 letters, digits, `_` or `-`. */
            name: string;
        };
        /** Any JSON value of at most 1 MiB. An empty body is the same as null. */
        body?: unknown;
        answer: unknown;
    };
    /** Streams changes of the live documents as server-sent events. */
    "GET config/events": {
        answer: unknown;
    };
    /**
     * Returns the configuration of an app version for a client that describes itself, or stores and publishes one with
     * the master key.
     */
    "POST remote": {
        query?: {
            /** The id of the change event that caused the request; the answer waits up to two seconds to be as new. */
            generation?: number;
        };
        headers?: {
            /** The app's own id of the device, for conditions and experiments, in visible ASCII characters. */
            "X-Device-Id"?: string;
            /** The `ETag` of an earlier answer. */
            "If-None-Match"?: string;
        };
        body: {
            appVersion: string;
            theme?: string;
            language?: string;
            platform?: string;
            osVersion?: string;
            country?: string;
            build?: string;
            /** Further attributes that conditions can test; at most 16 KiB. */
            attributes?: Record<string, unknown>;
            /** The configuration to store and publish; at most 1 MiB. */
            configuration?: Record<string, unknown>;
            /** Only with `configuration`. If false, only the draft is stored; by default true. */
            live?: boolean;
            /** Only with `configuration`: the note of the new version. */
            note?: string;
        };
        answer: API.RemoteConfiguration | Record<string, unknown>;
    };
    /** Returns the configuration of an app version in its default theme. */
    "GET remote/{version}": {
        path: {
            /** The app version. */
            version: string;
        };
        query?: {
            /** Can be tested by conditions. */
            language?: string;
            /** Can be tested by conditions. */
            platform?: string;
            /** Can be tested by conditions. */
            osVersion?: string;
            /** Can be tested by conditions. */
            country?: string;
            /** Can be tested by conditions. */
            build?: string;
            /** The id of the change event that caused the request; the answer waits up to two seconds to be as new. */
            generation?: number;
        };
        headers?: {
            /** The app's own id of the device, for conditions and experiments, in visible ASCII characters. */
            "X-Device-Id"?: string;
            /** The `ETag` of an earlier answer. */
            "If-None-Match"?: string;
        };
        answer: API.RemoteConfiguration;
    };
    /** Returns the configuration of an app version in a theme. */
    "GET remote/{version}/{theme}": {
        path: {
            /** The app version. */
            version: string;
            theme: string;
        };
        query?: {
            /** Can be tested by conditions. */
            language?: string;
            /** Can be tested by conditions. */
            platform?: string;
            /** Can be tested by conditions. */
            osVersion?: string;
            /** Can be tested by conditions. */
            country?: string;
            /** Can be tested by conditions. */
            build?: string;
            /** The id of the change event that caused the request; the answer waits up to two seconds to be as new. */
            generation?: number;
        };
        headers?: {
            /** The app's own id of the device, for conditions and experiments, in visible ASCII characters. */
            "X-Device-Id"?: string;
            /** The `ETag` of an earlier answer. */
            "If-None-Match"?: string;
        };
        answer: API.RemoteConfiguration;
    };
    /**
     * Returns the live texts of an app version in a language; a version without translations gets those of the newest
     * version below it.
     */
    "GET translation/{language}/{version}": {
        path: {
            /** A language tag, such as `de` or `pt-BR`. */
            language: string;
            /** The app version. */
            version: string;
        };
        query?: {
            /** The id of the change event that caused the request; the answer waits up to two seconds to be as new. */
            generation?: number;
        };
        headers?: {
            "If-None-Match"?: string;
        };
        answer: API.TranslationTable;
    };
    /** Returns the texts of one version of the translations in a language, as long as that version is live. */
    "GET translationVersion/{language}/{version}": {
        path: {
            /** A language tag, such as `de` or `pt-BR`. */
            language: string;
            /** The app version and the number of the version of its translations, such as `1.2.0~7`. */
            version: string;
        };
        query?: {
            /** The id of the change event that caused the request; the answer waits up to two seconds to be as new. */
            generation?: number;
        };
        headers?: {
            "If-None-Match"?: string;
        };
        answer: API.TranslationTable;
    };
    /** Lists the public keys that verify the app's manifests, newest first, as a JWK set (RFC 7517, RFC 8037). */
    "GET definitions/keys": {
        answer: {
            keys?: Array<{
                kty?: string;
                crv?: string;
                alg?: string;
                use?: string;
                kid?: string;
                x?: string;
            }>;
        };
    };
    /** Returns the signed manifest of an app definition: its parts and what they require of the client. */
    "GET definitions/{name}/manifest": {
        path: {
            /** The definition's name: 1 to 64 characters from `A-Z a-z 0-9 . _ -`, the first a letter or digit. */
            name: string;
        };
        query?: {
            /** The version of the host app. */
            client?: string;
            /**
             * The kinds and operations that the host app supports, with their versions, such as
             * `RoundImageView:1,ChartView:2`; at most 200.
             */
            capabilities?: string;
            /** The device's own id, 1 to 128 bytes, which decides staged rollouts. */
            unit?: string;
            /** The token of a preview, from `POST …/config/definition/{name}/preview`; selects the draft. */
            preview?: string;
            /** The id of the change event that caused the request; the answer waits up to two seconds to be as new. */
            generation?: number;
        };
        headers?: {
            /** The `ETag` of an earlier answer. */
            "If-None-Match"?: string;
        };
        answer: {
            manifest: {
                schema: 1;
                name: string;
                /** Ends in `-preview` for a draft, so that no client takes a draft for a published version. */
                environment: "live" | "test" | "live-preview" | "test-preview";
                /** The live version's number, which never decreases. */
                version: number;
                /** The version that the parts belong to; it can be older than `version`. */
                content: number;
                published: string;
                /** When the manifest expires: 7 days after the end of the day (UTC) of the answer. */
                expires: string;
                minClient?: string;
                requires: {
                    [name: string]: number;
                };
                parts: Array<{
                    path?: string;
                    sha256?: string;
                    size?: number;
                }>;
                keyId: string;
            };
            /** The Ed25519 signature of the manifest in canonical JSON (RFC 8785), as base64url. */
            signature: string;
            compatible?: boolean;
            missing?: string[];
            fallbacks?: Array<{
                kind?: string;
                version?: number;
                path?: string;
            }>;
        };
    };
    /** Returns a part of the live version of a definition, or of one of the ten versions before it. */
    "GET definitions/{name}/parts/{sha256}": {
        path: {
            /** The definition's name: 1 to 64 characters from `A-Z a-z 0-9 . _ -`, the first a letter or digit. */
            name: string;
            /** The part's SHA-256 from the manifest: 64 hexadecimal digits. */
            sha256: string;
        };
        query?: {
            /** The token of a preview; selects a part of the draft. */
            preview?: string;
            /** The id of the change event that caused the request; the answer waits up to two seconds to be as new. */
            generation?: number;
        };
        headers?: {
            /** The `ETag` of an earlier answer. */
            "If-None-Match"?: string;
        };
        answer: unknown;
    };
    /** Evaluates all flags for an app on a device and its signed-in user. */
    "POST flags/evaluate": {
        query?: {
            /** The id of the change event that caused the request; the answer waits up to two seconds to be as new. */
            generation?: number;
        };
        headers?: {
            /** The `ETag` of an earlier answer. */
            "If-None-Match"?: string;
        };
        body: {
            /** The attributes that conditions test. `user` and `userId` always come from the access token. */
            context?: {
                /** The id that decides percentage rollouts, such as the installation's; by default the user's id. */
                targetingKey?: string;
                [name: string]: unknown;
            };
        };
        answer: {
            version: number | null;
            flags: {
                [name: string]: {
                    type: "boolean" | "number" | "string" | "json";
                    value: unknown;
                    variant: string;
                    reason: "STATIC" | "TARGETING_MATCH" | "SPLIT" | "DISABLED" | "UNKNOWN";
                };
            };
        };
    };
    /** Returns the rules of the flags that devices evaluate themselves. */
    "GET flags/rules": {
        query?: {
            /** The id of the change event that caused the request; the answer waits up to two seconds to be as new. */
            generation?: number;
        };
        headers?: {
            /** The `ETag` of an earlier answer. */
            "If-None-Match"?: string;
        };
        answer: {
            format: number;
            version: number | null;
            flags: {
                [name: string]: {
                    value: unknown;
                    variant: string;
                    reason: "STATIC" | "UNKNOWN";
                    rules: Array<Record<string, unknown>>;
                };
            };
        };
    };
    /** Accepts a batch of messages from the app; those of a signed-in user are attributed to that user. */
    "POST events": {
        body: API.EventBatch;
        answer: API.TakenEvents;
    };
    /** Says whether the caller has opted out of analytics. */
    "GET events/opt-out": {
        query?: {
            /** The device's id; by default the one in `X-Device-Id`. The signed-in user is covered as well. */
            anonymousId?: string;
        };
        headers?: {
            "X-Device-Id"?: string;
        };
        answer: API.OptOut;
    };
    /** Stops storing the caller's events. */
    "PUT events/opt-out": {
        query?: {
            /** The device's id; by default the one in `X-Device-Id`. The signed-in user is covered as well. */
            anonymousId?: string;
        };
        headers?: {
            "X-Device-Id"?: string;
            /**
             * The device's own secret: 32 random bytes in base64url. Opting in needs the secret with which the device
             * opted out.
             */
            "Opt-Out-Secret"?: string;
        };
        answer: API.OptOut;
    };
    /** Ends the opt-out, so that the caller's events are stored again. */
    "DELETE events/opt-out": {
        query?: {
            /** The device's id; by default the one in `X-Device-Id`. The signed-in user is covered as well. */
            anonymousId?: string;
        };
        headers?: {
            "X-Device-Id"?: string;
            /**
             * The device's own secret: 32 random bytes in base64url. Opting in needs the secret with which the device
             * opted out.
             */
            "Opt-Out-Secret"?: string;
        };
        answer: API.OptOut;
    };
    /** Accepts one event in the format of TBAnalytics. */
    "POST storage/TBAnalytics": {
        body: API.TBAnalyticsEvent;
        answer: API.TBAnalyticsEvent;
    };
    /** Accepts an exception, or a list of up to 100, in the format of TBException. */
    "POST storage/TBException": {
        body: Record<string, unknown> | Array<Record<string, unknown>>;
        answer: Record<string, unknown>;
    };
    /** Sends a user's feedback, which becomes a ticket. */
    "POST feedback": {
        body: {
            message: string;
            name?: string;
            email?: string;
            appVersion?: string;
            /** The id of a crash report: 32 hexadecimal digits. */
            eventId?: string;
            /** Identifies the feedback; if it is sent again, it is stored only once. */
            id?: string;
            /** An image of at most 4 MiB. */
            screenshot?: string;
        };
        answer: undefined;
    };
    /** Reads the app's own installation. */
    "GET installations/{id}": {
        path: {
            id: string;
        };
        headers: {
            /** The installation's secret: 32 random bytes in base64url, chosen by the app. */
            "Installation-Secret": string;
        };
        answer: API.Installation;
    };
    /**
     * Registers the app's installation on a device, or updates it. Apps make this call each time they are opened. The
     * first call sets the installation's secret.
     */
    "PUT installations/{id}": {
        path: {
            id: string;
        };
        headers: {
            /** The installation's secret: 32 random bytes in base64url, chosen by the app. */
            "Installation-Secret": string;
        };
        body: API.InstallationFields;
        answer: API.Installation;
    };
    /** Changes the fields in the body. Null removes a value; attributes are merged (RFC 7396). */
    "PATCH installations/{id}": {
        path: {
            id: string;
        };
        headers: {
            /** The installation's secret: 32 random bytes in base64url, chosen by the app. */
            "Installation-Secret": string;
        };
        body: API.InstallationFields;
        answer: API.Installation;
    };
    /** Deletes the app's own installation, which then receives nothing more. */
    "DELETE installations/{id}": {
        path: {
            id: string;
        };
        headers: {
            /** The installation's secret: 32 random bytes in base64url, chosen by the app. */
            "Installation-Secret": string;
        };
        answer: undefined;
    };
    /** Adds the installation to a channel. */
    "PUT installations/{id}/channels/{channel}": {
        path: {
            id: string;
            channel: string;
        };
        headers: {
            /** The installation's secret: 32 random bytes in base64url, chosen by the app. */
            "Installation-Secret": string;
        };
        answer: undefined;
    };
    /** Removes the installation from a channel. */
    "DELETE installations/{id}/channels/{channel}": {
        path: {
            id: string;
            channel: string;
        };
        headers: {
            /** The installation's secret: 32 random bytes in base64url, chosen by the app. */
            "Installation-Secret": string;
        };
        answer: undefined;
    };
    /** Reads the public key with which browsers subscribe to Web Push. */
    "GET push/key": {
        answer: {
            publicKey?: string;
        };
    };
    /** Sends a push message. */
    "POST notifications/messages": {
        headers?: {
            "Idempotency-Key"?: string;
        };
        body: {
            content?: API.PushContent;
            template?: string;
            variables?: Record<string, unknown>;
            audience: API.PushAudience;
            timing?: API.PushTiming;
            due?: string;
            expires?: string;
        };
        answer: API.PushMessage | API.PushClientMessage | API.PushMessage & {
            withoutCredential?: API.PushWithoutCredential;
        } | API.PushClientMessage;
    };
    /** Records that the user opened the app from a message. */
    "POST installations/{id}/opened": {
        path: {
            /** The id of the installation. */
            id: string;
        };
        headers: {
            /** The installation's secret. */
            "Installation-Secret": string;
        };
        body: {
            /** The value of `martlet.message` in the push. */
            message: string;
        };
        answer: undefined;
    };
    /**
     * Sends a notification in the original TBAnalytics format. Users may send what the app's client rules allow; the
     * master key may send to any user or device.
     */
    "POST notification": {
        body: API.TBAnalyticsNotification;
        answer: Record<string, unknown>;
    };
}

/** The calls that the server carries out once for an `Idempotency-Key`, however often they are sent. */
const callsWithIdempotencyKey: ReadonlySet<string> = new Set([
    "POST storage/{collection}",
    "PUT storage/{collection}/{id}",
    "PATCH storage/{collection}/{id}",
    "DELETE storage/{collection}/{id}",
    "POST storage/batch",
    "POST storage/all/{collection}",
    "POST storage/remove/{collection}/{id}",
    "POST notifications/messages",
]);
// END GENERATED
