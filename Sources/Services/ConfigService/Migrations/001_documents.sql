-- A space is an app's environment. The generation counts what was published in it.
CREATE TABLE config.spaces (
    app_id text NOT NULL CHECK (length(app_id) BETWEEN 1 AND 32),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    generation bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, environment)
);

CREATE TABLE config.documents (
    id uuid PRIMARY KEY,
    app_id text NOT NULL,
    environment text NOT NULL,
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 32),
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 129),
    -- JSON text with the digits that were typed; NULL: the document was deleted, and its versions are history.
    draft text,
    -- Counts changes of the draft, for If-Match.
    revision bigint NOT NULL DEFAULT 1,
    draft_author text NOT NULL,
    draft_changed timestamptz NOT NULL DEFAULT now(),
    last_version integer NOT NULL DEFAULT 0,
    -- NULL: held back.
    live_version integer,
    live_since timestamptz,
    created timestamptz NOT NULL DEFAULT now(),
    UNIQUE (app_id, environment, kind, name),
    FOREIGN KEY (app_id, environment) REFERENCES config.spaces (app_id, environment),
    CHECK ((live_version IS NULL) = (live_since IS NULL)),
    CHECK (live_version <= last_version)
);

-- What was published. Nobody changes or deletes a row: the service's role may not.
CREATE TABLE config.versions (
    document_id uuid NOT NULL REFERENCES config.documents (id),
    version integer NOT NULL CHECK (version > 0),
    content text NOT NULL,
    -- Of the content, in hexadecimal digits.
    sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    -- Versions of other documents that this one needs: [{"kind","name","version"}].
    pins jsonb NOT NULL DEFAULT '[]',
    note text NOT NULL DEFAULT '' CHECK (length(note) <= 2000),
    author text NOT NULL,
    origin text NOT NULL CHECK (origin IN ('publish', 'rollback', 'promote', 'schedule', 'import')),
    -- Which version a rollback or promotion took.
    source_version integer,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (document_id, version)
);
ALTER TABLE config.documents ADD FOREIGN KEY (id, live_version) REFERENCES config.versions (document_id, version);

-- What is to be published later: the draft as it was when that was asked for.
CREATE TABLE config.schedules (
    id uuid PRIMARY KEY,
    document_id uuid NOT NULL REFERENCES config.documents (id),
    content text NOT NULL,
    note text NOT NULL DEFAULT '' CHECK (length(note) <= 2000),
    author text NOT NULL,
    due timestamptz NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'published', 'failed', 'cancelled')),
    -- Why it failed.
    problem text,
    version integer,
    created timestamptz NOT NULL DEFAULT now(),
    finished timestamptz,
    CHECK ((state = 'waiting') = (finished IS NULL))
);
CREATE INDEX schedules_due ON config.schedules (due) WHERE state = 'waiting';
CREATE INDEX schedules_document ON config.schedules (document_id, id);

GRANT SELECT, INSERT, UPDATE ON config.spaces, config.documents, config.schedules TO martlet_config;
GRANT SELECT, INSERT ON config.versions TO martlet_config;
