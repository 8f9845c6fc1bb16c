-- The last calls of each hook that failed, for whoever manages it.
CREATE TABLE _hook_failures (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hook text NOT NULL REFERENCES _hooks ON DELETE CASCADE,
    at timestamptz(3) NOT NULL DEFAULT now(),
    outcome text NOT NULL,
    status integer,
    error text NOT NULL,
    milliseconds integer NOT NULL,
    -- Like ones that were not noted since the one before, to keep this small.
    unnoted integer NOT NULL);
CREATE INDEX _hook_failures_hook ON _hook_failures (hook, id);
