-- Whom an app's own servers let us ask, tell and call.

-- `salt` makes the signing secret, together with the internal secret; the former one signs along until `former_until`.
-- `log_…` is how far the change log has been taken into deliveries: everything that log_from sees, and of what is new in log_to
-- what stands up to log_seq.
CREATE TABLE _hooks (
    name text PRIMARY KEY,
    event text NOT NULL CHECK (event IN ('beforeSave', 'afterSave', 'beforeDelete', 'afterDelete', 'function')),
    collection text CHECK ((collection IS NULL) = (event = 'function')),
    url text NOT NULL,
    timeout_milliseconds integer NOT NULL,
    enabled boolean NOT NULL,
    callers text[] NOT NULL,
    salt bytea NOT NULL,
    former_salt bytea,
    former_until timestamptz(3),
    created timestamptz(3) NOT NULL DEFAULT now(),
    updated timestamptz(3) NOT NULL DEFAULT now(),
    log_epoch text NOT NULL,
    log_from pg_snapshot NOT NULL,
    log_to pg_snapshot,
    log_seq bigint NOT NULL DEFAULT 0);

-- One row for each change and hook that is told of it. A waiting one belongs to whoever raised `attempts`, until it is due again.
CREATE TABLE _hook_deliveries (
    id uuid PRIMARY KEY,
    hook text NOT NULL REFERENCES _hooks ON DELETE CASCADE,
    collection text NOT NULL,
    object text NOT NULL,
    -- NULL when it is done.
    body text,
    size integer NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    due timestamptz(3) NOT NULL DEFAULT now(),
    status integer,
    error text,
    created timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
    finished timestamptz(3));
CREATE INDEX _hook_deliveries_due ON _hook_deliveries (hook, due) WHERE state = 'waiting';
CREATE INDEX _hook_deliveries_created ON _hook_deliveries (hook, created);
