-- What was sent, or is to be.
CREATE TABLE notifications.messages (
    id uuid PRIMARY KEY,
    space integer NOT NULL REFERENCES notifications.spaces,
    author text NOT NULL,
    -- The template that the content was made of.
    template text,
    -- What devices get: `MessageContent`, with the digits and the order that were written.
    content json NOT NULL,
    -- Whom it is for: `Audience`; and what the segment said that it names.
    audience json NOT NULL,
    segment json,
    -- The users whom the audience names.
    users text[] NOT NULL DEFAULT '{}',
    -- At which time of each device, caps, quiet hours: `MessageTiming`.
    timing json NOT NULL DEFAULT '{}',
    -- scheduled → planning → sending → sent; paused and back; cancelled and failed at any time before.
    state text NOT NULL DEFAULT 'planning' CHECK (state IN ('scheduled', 'planning', 'sending', 'sent', 'cancelled', 'failed')),
    is_paused boolean NOT NULL DEFAULT FALSE,
    due timestamptz NOT NULL DEFAULT now(),
    -- What has not left by then is given up.
    expires timestamptz NOT NULL,
    -- Until which installation the audience is planned, in the order of their ids; and whether all of it is.
    planned_to uuid,
    is_planned boolean NOT NULL DEFAULT FALSE,
    planned integer NOT NULL DEFAULT 0,
    problem text,
    -- What was sent with it before gives the same message again: an Idempotency-Key, or the change a rule acted on.
    origin text,
    origin_digest bytea,
    created timestamptz NOT NULL DEFAULT now(),
    finished timestamptz
);
CREATE UNIQUE INDEX messages_origin ON notifications.messages (space, origin) WHERE origin IS NOT NULL;
CREATE INDEX messages_created ON notifications.messages (space, created, id);
CREATE INDEX messages_finished ON notifications.messages (finished) WHERE finished IS NOT NULL;
CREATE INDEX messages_author ON notifications.messages (space, author, created);
CREATE INDEX messages_users ON notifications.messages USING gin (users) WHERE users <> '{}';
CREATE INDEX messages_due ON notifications.messages (due) WHERE state IN ('scheduled', 'planning', 'sending');

-- A message to one device: what became of it.
CREATE TABLE notifications.deliveries (
    message uuid NOT NULL REFERENCES notifications.messages ON DELETE CASCADE,
    installation uuid NOT NULL,
    space integer NOT NULL,
    -- Which of a message's texts (A/B).
    variant smallint NOT NULL DEFAULT 0,
    -- sending: it may have left; unknown: nobody can tell whether it did.
    state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'sending', 'accepted', 'failed', 'unknown', 'cancelled')),
    due timestamptz NOT NULL DEFAULT now(),
    attempts smallint NOT NULL DEFAULT 0,
    -- Held by a copy of the service until then.
    leased_until timestamptz,
    -- `apns-id` and the like, the same for each attempt.
    push_id uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The number that the device's icon is to show; chosen at the first attempt.
    badge integer,
    receipt text,
    reason text,
    updated timestamptz NOT NULL DEFAULT now(),
    opened timestamptz,
    PRIMARY KEY (message, installation)
);
CREATE INDEX deliveries_queued ON notifications.deliveries (due) WHERE state = 'queued';
CREATE INDEX deliveries_leased ON notifications.deliveries (leased_until) WHERE state = 'sending';
CREATE INDEX deliveries_installation ON notifications.deliveries (space, installation, updated);

-- Texts that messages are made of, by name: `MessageContent` with places for variables.
CREATE TABLE notifications.templates (
    space integer NOT NULL REFERENCES notifications.spaces,
    name text NOT NULL,
    content json NOT NULL,
    -- That need a value, or null, in each message.
    variables text[] NOT NULL DEFAULT '{}',
    author text NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, name)
);

-- Audiences by name.
CREATE TABLE notifications.segments (
    space integer NOT NULL REFERENCES notifications.spaces,
    name text NOT NULL,
    audience json NOT NULL,
    author text NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, name)
);

-- What an app's signed-in users may send to each other: `ClientRules`. None: nothing.
CREATE TABLE notifications.client_rules (
    space integer PRIMARY KEY REFERENCES notifications.spaces,
    rules json NOT NULL,
    author text NOT NULL,
    updated timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.client_rules, notifications.messages, notifications.deliveries, notifications.templates, notifications.segments
    TO martlet_notifications;
