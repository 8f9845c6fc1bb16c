-- What the tickets of a space have in common. Whoever changes a ticket locks this row first: changes take turns, so numbers have no gaps and
-- places in a column are never given twice.
CREATE TABLE analytics.ticket_spaces (
    space integer PRIMARY KEY REFERENCES analytics.spaces,
    -- Before the number, as people say it: APP-12.
    prefix text NOT NULL DEFAULT 'APP' CHECK (prefix ~ '^[A-Z][A-Z0-9]{0,9}$'),
    last_number integer NOT NULL DEFAULT 0,
    last_sprint integer NOT NULL DEFAULT 0,
    -- Counts changes: who knows a generation can ask what came since.
    generation bigint NOT NULL DEFAULT 0,
    -- Feedback taken in the hour that began then.
    feedback_hour timestamptz NOT NULL DEFAULT '-infinity',
    feedback_count integer NOT NULL DEFAULT 0
);

-- Words as they are searched: whatever is no letter or digit parts them.
CREATE FUNCTION analytics.ticket_words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_tsvector('pg_catalog.simple'::regconfig, regexp_replace($1, '[^[:alnum:]]+', ' ', 'g'));

-- All words of a search, each the beginning of one; NULL when it has none.
CREATE FUNCTION analytics.ticket_query(text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT to_tsquery('pg_catalog.simple'::regconfig, string_agg(quote_literal(word) || ':*', ' & '))
    FROM regexp_split_to_table($1, '[^[:alnum:]]+') AS word WHERE word <> '');

CREATE TABLE analytics.ticket_sprints (
    space integer NOT NULL REFERENCES analytics.spaces,
    number integer NOT NULL CHECK (number > 0),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    goal text NOT NULL DEFAULT '' CHECK (length(goal) <= 2000),
    starts date,
    ends date CHECK (ends >= starts),
    state text NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'active', 'closed')),
    started timestamptz,
    closed timestamptz,
    revision bigint NOT NULL DEFAULT 1,
    author text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, number)
);
CREATE UNIQUE INDEX ticket_sprints_active ON analytics.ticket_sprints (space) WHERE state = 'active';

CREATE TABLE analytics.tickets (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    number integer NOT NULL CHECK (number > 0),
    type text NOT NULL CHECK (type IN ('bug', 'feature', 'improvement', 'task', 'feedback')),
    status text NOT NULL CHECK (status IN ('todo', 'inProgress', 'onHold', 'complete')),
    priority text NOT NULL CHECK (priority IN ('low', 'medium', 'high', 'urgent')),
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    description text NOT NULL DEFAULT '' CHECK (length(description) <= 50000),
    -- A staff member's id.
    assignee uuid,
    app_version text CHECK (length(app_version) BETWEEN 1 AND 64),
    sprint integer,
    -- Its place among those of its status: a `FractionalKey`.
    position text COLLATE "C" NOT NULL CHECK (octet_length(position) BETWEEN 1 AND 200),
    -- Of the fields above but the place.
    revision bigint NOT NULL DEFAULT 1,
    -- Of the space's, at the last change of anything about it.
    generation bigint NOT NULL,
    -- As `Author` has it; `client`: feedback.
    author text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now(),
    completed timestamptz,
    -- Since when it is in the bin.
    deleted timestamptz,
    last_comment integer NOT NULL DEFAULT 0,
    last_attachment integer NOT NULL DEFAULT 0,
    words tsvector NOT NULL GENERATED ALWAYS AS (analytics.ticket_words(title) || analytics.ticket_words(description)) STORED,
    UNIQUE (space, number),
    FOREIGN KEY (space, sprint) REFERENCES analytics.ticket_sprints (space, number),
    CHECK ((status = 'complete') = (completed IS NOT NULL))
);
CREATE INDEX tickets_column ON analytics.tickets (space, status, position, number) WHERE deleted IS NULL;
CREATE INDEX tickets_generation ON analytics.tickets (space, generation);
CREATE INDEX tickets_sprint ON analytics.tickets (space, sprint) WHERE sprint IS NOT NULL;
CREATE INDEX tickets_words ON analytics.tickets USING gin (words);
CREATE INDEX tickets_deleted ON analytics.tickets (deleted) WHERE deleted IS NOT NULL;

CREATE TABLE analytics.ticket_labels (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
    color text NOT NULL CHECK (color ~ '^#[0-9a-f]{6}$')
);
CREATE UNIQUE INDEX ticket_labels_name ON analytics.ticket_labels (space, lower(name));

CREATE TABLE analytics.ticket_label_uses (
    ticket bigint NOT NULL REFERENCES analytics.tickets ON DELETE CASCADE,
    label integer NOT NULL REFERENCES analytics.ticket_labels ON DELETE CASCADE,
    PRIMARY KEY (ticket, label)
);
CREATE INDEX ticket_label_uses_label ON analytics.ticket_label_uses (label);

CREATE TABLE analytics.ticket_comments (
    ticket bigint NOT NULL REFERENCES analytics.tickets ON DELETE CASCADE,
    number integer NOT NULL,
    author text NOT NULL,
    text text NOT NULL CHECK (length(text) BETWEEN 1 AND 20000),
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    edited timestamptz,
    words tsvector NOT NULL GENERATED ALWAYS AS (analytics.ticket_words(text)) STORED,
    PRIMARY KEY (ticket, number)
);
CREATE INDEX ticket_comments_words ON analytics.ticket_comments USING gin (words);

CREATE TABLE analytics.ticket_attachments (
    ticket bigint NOT NULL REFERENCES analytics.tickets ON DELETE CASCADE,
    number integer NOT NULL,
    -- The second part of its `BlobName`, whose first is "tickets_<space>".
    blob text COLLATE "C" NOT NULL UNIQUE CHECK (length(blob) = 32),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    content_type text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL CHECK (length(sha256) = 64),
    author text NOT NULL,
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Sent with feedback by the person whose feedback it is.
    is_feedback boolean NOT NULL DEFAULT FALSE,
    PRIMARY KEY (ticket, number)
);

-- Crash issues that a ticket is about.
CREATE TABLE analytics.ticket_issues (
    ticket bigint NOT NULL REFERENCES analytics.tickets ON DELETE CASCADE,
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    author text NOT NULL,
    added timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (ticket, issue)
);
CREATE INDEX ticket_issues_issue ON analytics.ticket_issues (issue);

-- `source` blocks, relates to or duplicates `target`. What relates is there once.
CREATE TABLE analytics.ticket_links (
    source bigint NOT NULL REFERENCES analytics.tickets ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('blocks', 'duplicates', 'relates')),
    target bigint NOT NULL REFERENCES analytics.tickets ON DELETE CASCADE,
    author text NOT NULL,
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (source, kind, target),
    CHECK (source <> target),
    CHECK (kind <> 'relates' OR source < target)
);
CREATE INDEX ticket_links_target ON analytics.ticket_links (target);

-- What a person who uses the app said. Nothing of it stands in the ticket but the beginning, as its title.
CREATE TABLE analytics.ticket_feedback (
    ticket bigint PRIMARY KEY REFERENCES analytics.tickets ON DELETE CASCADE,
    space integer NOT NULL REFERENCES analytics.spaces,
    -- The app's user who was signed in; NULL: nobody.
    user_id uuid,
    name text NOT NULL CHECK (length(name) <= 200),
    email text NOT NULL CHECK (length(email) <= 254),
    message text NOT NULL CHECK (length(message) BETWEEN 1 AND 8000),
    -- The crash report it is about, which may come later or never.
    event_id uuid,
    -- What comes twice is found by it.
    key text COLLATE "C" CHECK (length(key) BETWEEN 1 AND 100),
    created timestamptz NOT NULL DEFAULT now(),
    words tsvector NOT NULL GENERATED ALWAYS AS (analytics.ticket_words(message || ' ' || name || ' ' || email)) STORED,
    UNIQUE (space, key)
);
CREATE INDEX ticket_feedback_user ON analytics.ticket_feedback (space, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX ticket_feedback_words ON analytics.ticket_feedback USING gin (words);

-- What happened to a ticket, oldest first.
CREATE TABLE analytics.ticket_history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ticket bigint NOT NULL REFERENCES analytics.tickets ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    author text NOT NULL,
    -- As `TicketAct` has it.
    act text NOT NULL CHECK (length(act) BETWEEN 1 AND 32),
    field text,
    before jsonb,
    after jsonb
);
CREATE INDEX ticket_history_ticket ON analytics.ticket_history (ticket, id);

-- Names of staff who have been here, for who may not read the list of staff.
CREATE TABLE analytics.ticket_people (
    space integer NOT NULL REFERENCES analytics.spaces,
    id uuid NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (space, id)
);

-- Blobs that no attachment has, and since when that is known.
CREATE TABLE analytics.ticket_orphans (
    space integer NOT NULL REFERENCES analytics.spaces,
    blob text COLLATE "C" NOT NULL,
    since timestamptz NOT NULL,
    PRIMARY KEY (space, blob)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    analytics.ticket_spaces, analytics.ticket_sprints, analytics.tickets, analytics.ticket_labels, analytics.ticket_label_uses,
    analytics.ticket_comments, analytics.ticket_attachments, analytics.ticket_issues, analytics.ticket_links, analytics.ticket_feedback,
    analytics.ticket_people, analytics.ticket_orphans
    TO martlet_analytics;
-- History is added to. Values go when the person they are about wants it.
GRANT SELECT, INSERT, UPDATE (before, after) ON analytics.ticket_history TO martlet_analytics;
