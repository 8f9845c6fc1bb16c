-- What `sentry-cli releases set-commits` says went into a release, the newest first.
CREATE TABLE analytics.release_commits (
    release integer NOT NULL REFERENCES analytics.releases ON DELETE CASCADE,
    position integer NOT NULL,
    id text NOT NULL CHECK (octet_length(id) BETWEEN 1 AND 64),
    repository text NOT NULL,
    author text NOT NULL,
    -- The first line.
    message text NOT NULL,
    at timestamptz,
    PRIMARY KEY (release, position)
);

GRANT SELECT, INSERT, DELETE ON analytics.release_commits TO martlet_analytics;
