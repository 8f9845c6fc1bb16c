-- Where and when releases were put, as `sentry-cli deploys new` says.
CREATE TABLE analytics.release_deploys (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    release integer NOT NULL REFERENCES analytics.releases ON DELETE CASCADE,
    environment text NOT NULL CHECK (octet_length(environment) BETWEEN 1 AND 64),
    name text CHECK (octet_length(name) <= 64),
    url text CHECK (octet_length(url) <= 500),
    started timestamptz,
    finished timestamptz NOT NULL
);
CREATE INDEX release_deploys_release ON analytics.release_deploys (release, id DESC);

GRANT SELECT, INSERT, DELETE ON analytics.release_deploys TO martlet_analytics;
