-- Releases as reports and sessions name them: "com.example.app@1.4.2+57" or "1.4.2".
CREATE TABLE analytics.releases (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    name text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 250),
    -- Between "@" and "+".
    version text NOT NULL,
    build text NOT NULL,
    -- `VersionNumber.sortKey` of the version and the padded build behind it: what is greater is newer. NULL: only time tells.
    sort_key text COLLATE "C",
    first_seen timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    UNIQUE (space, name)
);

-- Reports of the same fault.
CREATE TABLE analytics.issues (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    -- Counts from 1 in its space: how people call it.
    number integer NOT NULL,
    title text NOT NULL,
    -- Where: a function, file or transaction.
    culprit text NOT NULL,
    -- crash: it ended the app; error: an exception that was caught; message; broken: reports that could not be read.
    kind text NOT NULL CHECK (kind IN ('crash', 'error', 'message', 'broken')),
    platform text NOT NULL,
    -- The gravest seen: 1 debug, 2 info, 3 warning, 4 error, 5 fatal.
    level smallint NOT NULL CHECK (level BETWEEN 1 AND 5),
    status text NOT NULL DEFAULT 'unresolved' CHECK (status IN ('unresolved', 'ignored', 'resolved')),
    -- Since when it has this status.
    changed timestamptz NOT NULL,
    -- Of a resolved one: the release it was resolved in; NULL: in all, whatever comes after `changed` brings it back.
    resolved_in integer REFERENCES analytics.releases,
    -- When it came back the last time, as long as it is unresolved; NULL: never.
    regressed timestamptz,
    -- Of an ignored one: until then, and until it has so many events. NULL: for ever.
    ignored_until timestamptz,
    ignored_until_events bigint,
    -- The id of a staff member.
    assignee text,
    first_seen timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    first_release integer REFERENCES analytics.releases,
    last_release integer REFERENCES analytics.releases,
    events bigint NOT NULL DEFAULT 0,
    -- Persons known by what the reports say of them: rows of `issue_users`.
    users bigint NOT NULL DEFAULT 0,
    UNIQUE (space, number)
);
CREATE INDEX issues_status ON analytics.issues (space, status, last_seen DESC, id DESC);
CREATE INDEX issues_ignored ON analytics.issues (ignored_until) WHERE status = 'ignored' AND ignored_until IS NOT NULL;

-- The next number of an issue in a space.
CREATE TABLE analytics.issue_numbers (
    space integer PRIMARY KEY REFERENCES analytics.spaces,
    next integer NOT NULL
);

-- What an issue is known by. Several hashes may lead to one issue: merging two is moving rows.
CREATE TABLE analytics.issue_hashes (
    space integer NOT NULL REFERENCES analytics.spaces,
    -- 16 bytes.
    hash bytea NOT NULL CHECK (octet_length(hash) = 16),
    -- Of the way it was made: `Grouping.version`.
    algorithm smallint NOT NULL,
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    PRIMARY KEY (space, hash)
);
CREATE INDEX issue_hashes_issue ON analytics.issue_hashes (issue);

-- Reports, one each; those too old go.
CREATE TABLE analytics.crash_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    -- As the client gave it: a report that comes twice is found by it.
    event_id uuid NOT NULL,
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    received timestamptz NOT NULL,
    -- When it happened, as the client says, never in the future.
    at timestamptz NOT NULL,
    -- 64 bits of a digest of the user or device; 0: nobody known.
    person bigint NOT NULL,
    release integer REFERENCES analytics.releases,
    level smallint NOT NULL,
    -- False: it ended the app.
    handled boolean NOT NULL,
    -- Sentry's environment ("production"), not Martlet's.
    stage text NOT NULL,
    os text NOT NULL,
    device text NOT NULL,
    -- The version of the remote configuration, and the experiments' variations ("checkout=dark,…"), that were active. Empty: not said.
    configuration text NOT NULL,
    variants text NOT NULL,
    message text NOT NULL,
    -- By the app's own frames, and by all frames.
    app_hash bytea NOT NULL CHECK (octet_length(app_hash) = 16),
    system_hash bytea NOT NULL CHECK (octet_length(system_hash) = 16),
    algorithm smallint NOT NULL,
    -- The report without what may not be kept, normalised, symbolicated as far as symbols were there: `MartletSentry.Event`'s form.
    content jsonb NOT NULL,
    UNIQUE (space, event_id)
);
CREATE INDEX crash_events_issue ON analytics.crash_events (issue, received DESC, id DESC);
CREATE INDEX crash_events_received ON analytics.crash_events (received);
CREATE INDEX crash_events_person ON analytics.crash_events (space, person) WHERE person <> 0;

-- Reports of an issue by day (UTC), for lines over time. Stay when the reports go.
CREATE TABLE analytics.issue_days (
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    day date NOT NULL,
    events bigint NOT NULL,
    PRIMARY KEY (issue, day)
);

CREATE TABLE analytics.issue_releases (
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    release integer NOT NULL REFERENCES analytics.releases,
    events bigint NOT NULL,
    first_seen timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    PRIMARY KEY (issue, release)
);

CREATE TABLE analytics.issue_users (
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    person bigint NOT NULL,
    last_seen timestamptz NOT NULL,
    PRIMARY KEY (issue, person)
);
CREATE INDEX issue_users_seen ON analytics.issue_users (last_seen);

-- How often each value of a tag was seen in an issue. Values beyond the first hundred of a key count as ''.
CREATE TABLE analytics.issue_tags (
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    key text COLLATE "C" NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 200),
    value text COLLATE "C" NOT NULL CHECK (octet_length(value) <= 800),
    events bigint NOT NULL,
    last_seen timestamptz NOT NULL,
    PRIMARY KEY (issue, key, value)
);

-- What happened to an issue, oldest first: by the service ("created", "regressed", "unignored") and by people.
CREATE TABLE analytics.issue_history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT now(),
    kind text NOT NULL CHECK (octet_length(kind) BETWEEN 1 AND 32),
    -- As `Author` has it.
    author text NOT NULL,
    details jsonb NOT NULL DEFAULT '{}',
    -- Whether alert rules have looked at it: "created" and "regressed" begin with false.
    is_announced boolean NOT NULL DEFAULT TRUE
);
CREATE INDEX issue_history_issue ON analytics.issue_history (issue, id);
CREATE INDEX issue_history_new ON analytics.issue_history (id) WHERE NOT is_announced;

-- What people wrote about a crash.
CREATE TABLE analytics.crash_feedback (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    -- Of the feedback itself, or of the report for the older form: what comes twice is found by it.
    feedback_id uuid NOT NULL,
    -- The report it is about, which may come later or never; NULL: about none.
    event_id uuid,
    name text NOT NULL,
    email text NOT NULL,
    message text NOT NULL,
    received timestamptz NOT NULL,
    UNIQUE (space, feedback_id)
);
CREATE INDEX crash_feedback_event ON analytics.crash_feedback (space, event_id) WHERE event_id IS NOT NULL;

CREATE TABLE analytics.crash_attachments (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    event_id uuid NOT NULL,
    -- The second part of its `BlobName`, whose first is "crash_<space>".
    blob text COLLATE "C" NOT NULL UNIQUE CHECK (length(blob) = 32),
    name text NOT NULL,
    content_type text NOT NULL,
    -- As Sentry names them: "event.attachment", "event.view_hierarchy" …
    kind text NOT NULL,
    size bigint NOT NULL,
    received timestamptz NOT NULL
);
CREATE INDEX crash_attachments_event ON analytics.crash_attachments (space, event_id);
CREATE INDEX crash_attachments_received ON analytics.crash_attachments (received);

-- Sessions by the day they began (UTC).
CREATE TABLE analytics.crash_sessions (
    space integer NOT NULL REFERENCES analytics.spaces,
    release integer NOT NULL REFERENCES analytics.releases,
    stage text COLLATE "C" NOT NULL,
    day date NOT NULL,
    sessions bigint NOT NULL,
    -- With errors that did not end it.
    errored bigint NOT NULL,
    crashed bigint NOT NULL,
    abnormal bigint NOT NULL,
    PRIMARY KEY (space, day, release, stage)
);

-- Who used a release on a day, and whether it crashed for them.
CREATE TABLE analytics.crash_session_users (
    space integer NOT NULL REFERENCES analytics.spaces,
    day date NOT NULL,
    release integer NOT NULL REFERENCES analytics.releases,
    stage text COLLATE "C" NOT NULL,
    person bigint NOT NULL,
    crashed boolean NOT NULL,
    PRIMARY KEY (space, day, release, stage, person)
);

-- Sessions that were counted lately: what comes twice or again counts once.
CREATE TABLE analytics.crash_session_states (
    space integer NOT NULL REFERENCES analytics.spaces,
    sid uuid NOT NULL,
    -- 0 running or well ended, 1 with errors, 2 abnormal, 3 crashed: a session only becomes worse.
    state smallint NOT NULL,
    updated timestamptz NOT NULL,
    PRIMARY KEY (space, sid)
);
CREATE INDEX crash_session_states_updated ON analytics.crash_session_states (updated);

-- What never became a report: by day (UTC), and who let it go: "client" (as it tells) or "server".
CREATE TABLE analytics.crash_outcomes (
    space integer NOT NULL REFERENCES analytics.spaces,
    day date NOT NULL,
    source text COLLATE "C" NOT NULL CHECK (source IN ('client', 'server')),
    category text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    quantity bigint NOT NULL,
    PRIMARY KEY (space, day, source, category, reason)
);

-- How far each spool has been digested: written with what it became, so that nothing counts twice.
CREATE TABLE analytics.crash_spools (
    id uuid PRIMARY KEY,
    segment bigint NOT NULL,
    position bigint NOT NULL,
    updated timestamptz NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    analytics.releases, analytics.issues, analytics.issue_numbers, analytics.issue_hashes, analytics.crash_events,
    analytics.issue_days, analytics.issue_releases, analytics.issue_users, analytics.issue_tags, analytics.issue_history,
    analytics.crash_feedback, analytics.crash_attachments, analytics.crash_sessions, analytics.crash_session_users,
    analytics.crash_session_states, analytics.crash_outcomes, analytics.crash_spools
    TO martlet_analytics;
