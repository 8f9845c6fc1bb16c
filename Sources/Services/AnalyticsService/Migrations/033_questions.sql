-- Questions about events that are asked again by name.
CREATE TABLE analytics.questions (
    space integer NOT NULL REFERENCES analytics.spaces,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    -- As `SavedQuestion.json` writes it.
    question jsonb NOT NULL CHECK (octet_length(question::text) <= 131072),
    on_overview boolean NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    created_by text NOT NULL,
    updated timestamptz NOT NULL DEFAULT now(),
    updated_by text NOT NULL,
    PRIMARY KEY (space, name)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON analytics.questions TO martlet_analytics;

-- Files that staff upload: their parts are written later, by a job.
SELECT
    auth.audit('analytics.questions', 'analytics', 'question', 'name', 'question on_overview'),
    auth.audit('analytics.symbol_files', 'crashes', 'symbol-upload', 'name', 'sha1 size', 'INSERT');
