-- What sends messages by itself.
CREATE TABLE notifications.rules (
    space integer NOT NULL REFERENCES notifications.spaces,
    name text NOT NULL,
    rule jsonb NOT NULL,
    is_enabled boolean NOT NULL DEFAULT TRUE,
    author text NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now(),
    -- What was written before, by storage's clock, is none of its business.
    since timestamptz NOT NULL DEFAULT now(),
    -- Of a rule on a schedule: its next time.
    due timestamptz,
    -- What the webhook's secret is made from; the former one signs along for a while.
    salt bytea,
    former_salt bytea,
    former_until timestamptz,
    -- How often it acted, at all and since `window_start`.
    acted bigint NOT NULL DEFAULT 0,
    last_acted timestamptz,
    window_start timestamptz NOT NULL DEFAULT '-infinity',
    window_count integer NOT NULL DEFAULT 0,
    PRIMARY KEY (space, name)
);
CREATE INDEX rules_due ON notifications.rules (due) WHERE is_enabled AND due IS NOT NULL;

-- How far storage's change log has been acted on in a space, and which copy of the service does it until when.
CREATE TABLE notifications.rule_feeds (
    space integer PRIMARY KEY REFERENCES notifications.spaces,
    cursor text NOT NULL,
    -- Another one after each change of the space's rules.
    generation bigint NOT NULL DEFAULT 1,
    -- Whether there are rules that want to know.
    is_active boolean NOT NULL DEFAULT TRUE,
    leased_by uuid,
    leased_until timestamptz NOT NULL DEFAULT '-infinity'
);
CREATE INDEX rule_feeds_free ON notifications.rule_feeds (leased_until) WHERE is_active;

-- What rules did lately, and why they did not.
CREATE TABLE notifications.rule_runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL,
    rule text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- `change:…`, `tick:…`, `alert:…`
    cause text NOT NULL,
    -- `Collection/id`.
    object text,
    outcome text NOT NULL CHECK (outcome IN ('acted', 'nobody', 'limited', 'loop', 'failed', 'expired')),
    detail text,
    users integer,
    message uuid,
    delivery uuid,
    FOREIGN KEY (space, rule) REFERENCES notifications.rules ON DELETE CASCADE
);
CREATE INDEX rule_runs_rule ON notifications.rule_runs (space, rule, id);

-- What rules told or will tell apps' own servers.
CREATE TABLE notifications.rule_deliveries (
    id uuid PRIMARY KEY,
    space integer NOT NULL,
    rule text NOT NULL,
    -- NULL when it is done.
    body text,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    status integer,
    error text,
    created timestamptz NOT NULL DEFAULT now(),
    finished timestamptz,
    FOREIGN KEY (space, rule) REFERENCES notifications.rules ON DELETE CASCADE
);
CREATE INDEX rule_deliveries_created ON notifications.rule_deliveries (created);
CREATE INDEX rule_deliveries_rule ON notifications.rule_deliveries (space, rule);
CREATE INDEX rule_deliveries_waiting ON notifications.rule_deliveries (space, rule) WHERE state = 'waiting';

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.rules, notifications.rule_feeds, notifications.rule_runs, notifications.rule_deliveries
    TO martlet_notifications;
