-- A document that is deleted and made again is another one under the same name: the version with which the one that is there began, or will.
ALTER TABLE config.documents ADD COLUMN first_version integer NOT NULL DEFAULT 1 CHECK (first_version > 0);

-- Whose exposures are not wanted any more. Copies of the service may still have some in memory: for seven days none is written.
-- Experiments that were deleted, as exposures name them.
CREATE TABLE config.ended_experiments (
    app_id text NOT NULL,
    environment text NOT NULL,
    experiment text COLLATE "C" NOT NULL,
    ended timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, environment, experiment)
);
-- Users who were erased, hashed as exposures have them.
CREATE TABLE config.erased_units (
    app_id text NOT NULL,
    environment text NOT NULL,
    unit text COLLATE "C" NOT NULL CHECK (length(unit) = 32),
    erased timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, environment, unit)
);
CREATE INDEX erased_units_erased ON config.erased_units (erased);

INSERT INTO config.ended_experiments (app_id, environment, experiment)
SELECT app_id, environment, name FROM config.documents WHERE kind = 'experiment' AND draft IS NULL AND last_version > 0;

GRANT SELECT, INSERT, UPDATE, DELETE ON config.ended_experiments, config.erased_units TO martlet_config;
