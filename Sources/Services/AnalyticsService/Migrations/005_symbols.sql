-- Debug symbols are an app's, for both of its environments: the same program crashes in either.

-- Pieces of files under way, by the SHA-1 of their bytes.
CREATE TABLE analytics.symbol_chunks (
    app_id text NOT NULL CHECK (length(app_id) BETWEEN 1 AND 32),
    sha1 text COLLATE "C" NOT NULL CHECK (sha1 ~ '^[0-9a-f]{40}$'),
    blob text NOT NULL,
    size integer NOT NULL CHECK (size > 0),
    -- When somebody last asked for it or brought it.
    touched timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, sha1)
);
CREATE INDEX symbol_chunks_touched ON analytics.symbol_chunks (touched);

-- Files, from the moment on when all of their pieces are there.
CREATE TABLE analytics.symbol_files (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    app_id text NOT NULL CHECK (length(app_id) BETWEEN 1 AND 32),
    sha1 text COLLATE "C" NOT NULL CHECK (sha1 ~ '^[0-9a-f]{40}$'),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 256),
    size bigint NOT NULL CHECK (size > 0),
    state text NOT NULL DEFAULT 'created' CHECK (state IN ('created', 'assembling', 'ok', 'error')),
    -- Why there is an error.
    detail text,
    -- The SHA-1s of the pieces, in order; empty when they are together.
    chunks text[] NOT NULL,
    -- The debug id that it must have.
    expected text,
    blob text,
    author text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    -- When it became what it is.
    changed timestamptz NOT NULL DEFAULT now(),
    UNIQUE (app_id, sha1),
    CHECK ((state = 'ok') = (blob IS NOT NULL))
);
CREATE INDEX symbol_files_app ON analytics.symbol_files (app_id, created DESC, id DESC);
CREATE INDEX symbol_files_changed ON analytics.symbol_files (changed);

-- The parts of a file that is ok: one for each processor.
CREATE TABLE analytics.debug_files (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    app_id text NOT NULL,
    file uuid NOT NULL REFERENCES analytics.symbol_files ON DELETE CASCADE,
    debug_id text COLLATE "C" NOT NULL CHECK (length(debug_id) = 36),
    architecture text NOT NULL,
    kind text NOT NULL,
    has_debug_information boolean NOT NULL,
    -- Where it thinks it is loaded: 64 bits, taken for a number with a sign.
    address bigint NOT NULL,
    -- Where the part lies in the file.
    start bigint NOT NULL,
    length bigint NOT NULL,
    -- How often the symbolizer broke or hung on it; not used after a few.
    failures smallint NOT NULL DEFAULT 0
);
CREATE INDEX debug_files_file ON analytics.debug_files (file);
CREATE INDEX debug_files_id ON analytics.debug_files (app_id, debug_id);

-- Which debug files crash reports wait for.
CREATE TABLE analytics.awaited_symbols (
    space integer NOT NULL REFERENCES analytics.spaces,
    debug_id text COLLATE "C" NOT NULL CHECK (length(debug_id) = 36),
    -- The report's id, as the client gave it. It may be gone.
    event uuid NOT NULL,
    noted timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, debug_id, event)
);
CREATE INDEX awaited_symbols_noted ON analytics.awaited_symbols USING brin (noted);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    analytics.symbol_chunks, analytics.symbol_files, analytics.debug_files, analytics.awaited_symbols TO martlet_analytics;
