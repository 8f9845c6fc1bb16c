-- Which variations units were given, each once. A unit is hashed: see ExposureStore.unit.
CREATE TABLE config.exposures (
    app_id text NOT NULL,
    environment text NOT NULL,
    experiment text COLLATE "C" NOT NULL,
    bucket_version bigint NOT NULL,
    unit text COLLATE "C" NOT NULL CHECK (length(unit) = 32),
    variation text COLLATE "C" NOT NULL,
    first_seen timestamptz NOT NULL,
    -- Counting units goes along it.
    PRIMARY KEY (app_id, environment, experiment, bucket_version, unit, variation)
);
CREATE INDEX exposures_unit ON config.exposures (app_id, environment, unit, experiment);

-- What was observed of a metric up to a day (UTC): sums by variation, as `results` takes them.
CREATE TABLE config.observations (
    app_id text NOT NULL,
    environment text NOT NULL,
    experiment text COLLATE "C" NOT NULL,
    bucket_version bigint NOT NULL,
    metric text COLLATE "C" NOT NULL,
    day date NOT NULL,
    as_of timestamptz NOT NULL,
    -- {"<variation>":{"units","sum",…}}
    content text NOT NULL,
    author text NOT NULL,
    PRIMARY KEY (app_id, environment, experiment, bucket_version, metric, day)
);

GRANT SELECT, INSERT, DELETE ON config.exposures TO martlet_config;
GRANT SELECT, INSERT, UPDATE, DELETE ON config.observations TO martlet_config;
