-- Of an ignored issue: until so many persons have it.
ALTER TABLE analytics.issues ADD COLUMN ignored_until_users bigint;
-- Since when an issue is gone for everybody. It has no hashes any more; its reports go by and by, and then its row.
ALTER TABLE analytics.issues ADD COLUMN deleted timestamptz;
CREATE INDEX issues_ignored_all ON analytics.issues (id) WHERE status = 'ignored';

-- For the erasure of a user.
CREATE INDEX crash_session_users_person ON analytics.crash_session_users (space, person);
CREATE INDEX issue_users_person ON analytics.issue_users (person);

-- What became of issues that were merged: who asks for the number of one gets the other.
CREATE TABLE analytics.merged_issues (
    space integer NOT NULL REFERENCES analytics.spaces,
    number integer NOT NULL,
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    PRIMARY KEY (space, number)
);
CREATE INDEX merged_issues_issue ON analytics.merged_issues (issue);

-- How long a space keeps reports, where that is shorter than the server does.
CREATE TABLE analytics.crash_settings (
    space integer PRIMARY KEY REFERENCES analytics.spaces,
    retention_days integer NOT NULL CHECK (retention_days BETWEEN 1 AND 3650),
    author text NOT NULL,
    changed timestamptz NOT NULL DEFAULT now()
);

-- What people want to be told of crashes.
CREATE TABLE analytics.crash_alerts (
    id uuid PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 200),
    kind text NOT NULL CHECK (kind IN ('newIssue', 'regression', 'rate', 'crashFree')),
    enabled boolean NOT NULL,
    -- As `CrashLevel` numbers them, and names of releases. Empty: any.
    levels bigint[] NOT NULL,
    releases text[] NOT NULL,
    -- rate: of each issue, or of the app as a whole.
    scope text NOT NULL CHECK (scope IN ('issue', 'app')),
    -- What is counted: events or users, sessions or users.
    measure text NOT NULL CHECK (measure IN ('', 'events', 'users', 'sessions')),
    -- rate: so many or more; crashFree: less than so many per cent.
    threshold double precision NOT NULL,
    window_seconds integer NOT NULL,
    -- crashFree: sessions or users that there have to be.
    minimum bigint NOT NULL,
    -- Between two firings.
    pause_seconds integer NOT NULL CHECK (pause_seconds >= 0),
    target jsonb NOT NULL,
    -- The secret in force is made from the first, the former one from the second.
    salt bytea NOT NULL,
    former_salt bytea,
    former_until timestamptz,
    looked timestamptz NOT NULL DEFAULT '-infinity',
    fired timestamptz,
    author text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    changed timestamptz NOT NULL DEFAULT now(),
    UNIQUE (space, name)
);
CREATE INDEX crash_alerts_due ON analytics.crash_alerts (looked) WHERE enabled;

-- What alerts still have to tell: entries of issues' histories.
CREATE TABLE analytics.crash_alert_happenings (
    alert uuid NOT NULL REFERENCES analytics.crash_alerts ON DELETE CASCADE,
    history bigint NOT NULL REFERENCES analytics.issue_history ON DELETE CASCADE,
    issue bigint NOT NULL REFERENCES analytics.issues ON DELETE CASCADE,
    PRIMARY KEY (alert, history)
);
CREATE INDEX crash_alert_happenings_history ON analytics.crash_alert_happenings (history);
CREATE INDEX crash_alert_happenings_issue ON analytics.crash_alert_happenings (issue);

-- What was or will be told: a row for each firing, written with it.
CREATE TABLE analytics.crash_alert_deliveries (
    id uuid PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    alert uuid NOT NULL REFERENCES analytics.crash_alerts ON DELETE CASCADE,
    body text NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    -- Of the last answer, and why the last attempt failed.
    status integer,
    error text,
    created timestamptz NOT NULL DEFAULT now(),
    finished timestamptz
);
CREATE INDEX crash_alert_deliveries_alert ON analytics.crash_alert_deliveries (alert, created DESC, id DESC);
CREATE INDEX crash_alert_deliveries_created ON analytics.crash_alert_deliveries (created);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    analytics.merged_issues, analytics.crash_settings, analytics.crash_alerts, analytics.crash_alert_happenings, analytics.crash_alert_deliveries
    TO martlet_analytics;
