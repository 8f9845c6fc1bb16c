-- Events once more, by columns: what a question needs of them lies together and is read alone. Blocks are made of events behind the ingest and
-- can be made again: whatever is in none is read from the events.

-- By when it is known which blocks there are to be: what was received before is in one that is planned, or counted in `block_spaces`. Who has the
-- row locked makes blocks, or takes somebody out of them.
CREATE TABLE analytics.block_reach (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    reached timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO analytics.block_reach DEFAULT VALUES;

-- Events of a space that are not enough for a block, and where the next one begins.
CREATE TABLE analytics.block_spaces (
    space integer PRIMARY KEY,
    since timestamptz NOT NULL,
    waiting bigint NOT NULL CHECK (waiting > 0)
);

-- Events of a space that were received in a part of a day (UTC). Who had them under which release and so on is a profile: numbers from 0 on, in the
-- order of persons. A column has one value for each profile; `BlockColumn` says how.
CREATE TABLE analytics.blocks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    received_from timestamptz NOT NULL,
    received_to timestamptz NOT NULL,
    -- Of `at`, in microseconds since 2000.
    first_at bigint NOT NULL DEFAULT 0,
    last_at bigint NOT NULL DEFAULT 0,
    space integer NOT NULL,
    events integer NOT NULL,
    -- False: it is planned, or somebody was taken out of what it says, and has no columns.
    is_built boolean NOT NULL DEFAULT false,
    persons bytea,
    release bytea,
    os bytea,
    device bytea,
    configuration bytea,
    variants bytea,
    country bytea,
    CHECK (received_from < received_to),
    UNIQUE (space, received_from)
);
CREATE INDEX blocks_planned ON analytics.blocks (received_from) WHERE NOT is_built;

-- A block's events of one name, by profile and time.
CREATE TABLE analytics.block_names (
    block bigint NOT NULL REFERENCES analytics.blocks ON DELETE CASCADE,
    first_at bigint NOT NULL,
    last_at bigint NOT NULL,
    name integer NOT NULL,
    events integer NOT NULL,
    -- Screens and pages.
    is_screen boolean NOT NULL,
    profiles bytea NOT NULL,
    times bytea NOT NULL,
    PRIMARY KEY (block, name, is_screen)
);

-- What they have at a path of their properties. Without content it is not kept here: too many values, or what is no value. `*` stands for all other
-- paths, and at the end for all below.
CREATE TABLE analytics.block_properties (
    block bigint NOT NULL REFERENCES analytics.blocks ON DELETE CASCADE,
    name integer NOT NULL,
    is_screen boolean NOT NULL,
    path text COLLATE "C" NOT NULL,
    content bytea,
    PRIMARY KEY (block, path, name, is_screen)
);

-- What cannot be compressed is not tried; the rest where the server can do it quickly.
ALTER TABLE analytics.block_names ALTER COLUMN times SET STORAGE EXTERNAL;
DO $do$
BEGIN
    ALTER TABLE analytics.blocks ALTER COLUMN persons SET COMPRESSION lz4;
    ALTER TABLE analytics.block_names ALTER COLUMN profiles SET COMPRESSION lz4;
    ALTER TABLE analytics.block_properties ALTER COLUMN content SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
    RAISE NOTICE 'without lz4';
END
$do$;

GRANT SELECT, UPDATE ON analytics.block_reach TO martlet_analytics;
GRANT SELECT, INSERT, UPDATE, DELETE ON analytics.block_spaces, analytics.blocks, analytics.block_names, analytics.block_properties TO martlet_analytics;
