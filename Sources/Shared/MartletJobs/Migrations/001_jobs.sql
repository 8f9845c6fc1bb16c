-- The jobs of a service. {schema} stands for the service's schema, {role} for its role.
CREATE TABLE {schema}.jobs (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    -- Whose job it is: an app, a user. Status and cancellation are asked for within one scope.
    scope text NOT NULL DEFAULT '',
    -- Of the jobs of one lane, one runs at a time.
    lane text,
    -- Of the jobs of one kind and key, one waits or runs at a time.
    unique_key text,
    parameters jsonb NOT NULL,
    priority smallint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
    due timestamptz NOT NULL DEFAULT now(),
    attempt integer NOT NULL DEFAULT 0,
    maximum_attempts integer NOT NULL CHECK (maximum_attempts > 0),
    -- Names one claim: whoever does not know it may not write. Renewed while the worker lives.
    lease uuid,
    leased_until timestamptz,
    cancel_requested boolean NOT NULL DEFAULT FALSE,
    done bigint NOT NULL DEFAULT 0,
    total bigint,
    message text,
    result jsonb,
    error_code text,
    error_detail text,
    created timestamptz NOT NULL DEFAULT now(),
    started timestamptz,
    finished timestamptz,
    CHECK ((state = 'running') = (lease IS NOT NULL AND leased_until IS NOT NULL)),
    CHECK ((state IN ('done', 'failed', 'cancelled')) = (finished IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX jobs_claim ON {schema}.jobs (priority DESC, due, id) WHERE state = 'waiting';
CREATE INDEX jobs_lease ON {schema}.jobs (leased_until) WHERE state = 'running';
CREATE UNIQUE INDEX jobs_lane ON {schema}.jobs (lane) WHERE state = 'running' AND lane IS NOT NULL;
CREATE UNIQUE INDEX jobs_unique ON {schema}.jobs (kind, unique_key) WHERE finished IS NULL AND unique_key IS NOT NULL;
CREATE INDEX jobs_scope ON {schema}.jobs (scope, id);
CREATE INDEX jobs_finished ON {schema}.jobs (finished) WHERE finished IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.jobs TO {role};
