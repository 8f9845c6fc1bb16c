-- Accounts that are being deleted: a bare id, until nothing of the user is left anywhere. Nobody sees or finds it, or signs in as it.
ALTER TABLE auth.users ADD COLUMN deleting boolean NOT NULL DEFAULT FALSE;

-- What became of deleted accounts. Holds nothing by which a person could be told.
CREATE TABLE auth.receipts (
    id uuid PRIMARY KEY,
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    -- SHA-256 of 256 random bits.
    token bytea NOT NULL CHECK (length(token) = 32),
    created timestamptz NOT NULL DEFAULT now(),
    finished timestamptz,
    -- Service → kind of data → how many.
    erased jsonb NOT NULL DEFAULT '{}',
    -- Service → where its erasure goes on; null: it is done. Empty when all is.
    places jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX receipts_finished ON auth.receipts (finished) WHERE finished IS NOT NULL;

-- Each user's newest export: its job, and when it was asked for.
CREATE TABLE auth.exports (
    user_id uuid PRIMARY KEY REFERENCES auth.users (id) ON DELETE CASCADE,
    job uuid NOT NULL UNIQUE REFERENCES auth.jobs (id) ON DELETE CASCADE,
    started timestamptz NOT NULL DEFAULT now()
);

-- Files of jobs, in portions (`Spool`). A file goes with its job.
CREATE TABLE auth.job_files (
    id uuid PRIMARY KEY,
    job uuid REFERENCES auth.jobs (id) ON DELETE CASCADE,
    name text NOT NULL,
    content_type text NOT NULL,
    size bigint NOT NULL DEFAULT 0,
    complete boolean NOT NULL DEFAULT FALSE,
    created timestamptz NOT NULL DEFAULT now());
CREATE INDEX job_files_job ON auth.job_files (job);
CREATE INDEX job_files_orphans ON auth.job_files (created) WHERE job IS NULL;

CREATE TABLE auth.job_portions (
    file uuid NOT NULL REFERENCES auth.job_files (id) ON DELETE CASCADE,
    number integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (file, number));

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.receipts, auth.exports, auth.job_files, auth.job_portions TO martlet_auth;
