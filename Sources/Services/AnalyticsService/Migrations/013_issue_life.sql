-- Of mail: an array of what became of each staff member's, `{"staff","state","reason"?,"again"?}`. NULL: it goes elsewhere, or nobody has been looked up yet.
ALTER TABLE analytics.crash_alert_deliveries ADD COLUMN readers jsonb;

-- Files that a commit changed, from the repository's root, and their names without folders: for looking who changed what a stack shows.
ALTER TABLE analytics.release_commits
    ADD COLUMN paths text[] NOT NULL DEFAULT '{}',
    ADD COLUMN names text[] NOT NULL DEFAULT '{}';

-- What commits say that they mend and that was done for it: once, however often they are told.
CREATE TABLE analytics.commit_fixes (
    space integer NOT NULL REFERENCES analytics.spaces,
    "commit" text COLLATE "C" NOT NULL CHECK (octet_length("commit") BETWEEN 1 AND 64),
    -- "issue" or "ticket", with its number.
    kind text NOT NULL CHECK (kind IN ('issue', 'ticket')),
    number integer NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, "commit", kind, number)
);

GRANT SELECT, INSERT, DELETE ON analytics.commit_fixes TO martlet_analytics;
