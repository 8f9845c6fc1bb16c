-- The time zone that the days of a space in `days` and `people_sets` are of; without a row UTC. Another one in `settings`: they are to be made anew.
CREATE TABLE analytics.rolled_spaces (
    space integer PRIMARY KEY,
    time_zone text NOT NULL
);

-- How far events are rolled up; who has the row locked does it. What was received by `reached` and was visible in `seen` is done.
CREATE TABLE analytics.rollups (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    reached timestamptz NOT NULL DEFAULT '-infinity',
    seen pg_snapshot NOT NULL DEFAULT '1:1:',
    -- Of which cluster and table the snapshot's numbers are.
    epoch text NOT NULL DEFAULT ''
);
INSERT INTO analytics.rollups DEFAULT VALUES;

-- The events of the roll-up that runs. Empty but within its transaction.
CREATE UNLOGGED TABLE analytics.batch (
    at timestamptz NOT NULL,
    person bigint NOT NULL,
    space integer NOT NULL,
    name integer NOT NULL,
    release integer NOT NULL,
    os integer NOT NULL,
    device integer NOT NULL,
    configuration integer NOT NULL,
    country integer NOT NULL,
    kind smallint NOT NULL
);

-- Events by the hour (since 1970, UTC). Dimensions are numbered as in `Dimension`; values are terms, 0: not said.
CREATE TABLE analytics.hours (
    events bigint NOT NULL,
    space integer NOT NULL,
    hour integer NOT NULL,
    value integer NOT NULL,
    dimension smallint NOT NULL,
    PRIMARY KEY (space, dimension, hour, value)
) WITH (fillfactor = 90);

-- The same by the day (since 1970, in the space's time zone), and for each name, too. Name 0: of any name.
CREATE TABLE analytics.days (
    events bigint NOT NULL,
    space integer NOT NULL,
    name integer NOT NULL,
    day integer NOT NULL,
    value integer NOT NULL,
    dimension smallint NOT NULL,
    PRIMARY KEY (space, dimension, name, day, value)
) WITH (fillfactor = 90);

-- Persons get numbers in the order they are first rolled up in; a device and its account may be one.
CREATE TABLE analytics.person_numbers (
    person bigint NOT NULL,
    space integer NOT NULL,
    number integer NOT NULL,
    PRIMARY KEY (space, person)
);
CREATE TABLE analytics.person_starts (
    first_at timestamptz NOT NULL,
    space integer NOT NULL,
    number integer NOT NULL,
    PRIMARY KEY (space, number)
);
CREATE INDEX person_starts_first ON analytics.person_starts (space, first_at);

-- Who did something: bits of persons' numbers, 16,384 to a row. A slot is a day (since 1970, in the space's time zone), of dimension 100 an hour.
-- They lie in the row, compressed where they are few.
CREATE TABLE analytics.people_sets (
    space integer NOT NULL,
    slot integer NOT NULL,
    value integer NOT NULL,
    chunk integer NOT NULL,
    dimension smallint NOT NULL,
    members bit(16384) NOT NULL,
    PRIMARY KEY (space, dimension, slot, value, chunk)
) WITH (toast_tuple_target = 128, fillfactor = 80);
ALTER TABLE analytics.people_sets ALTER COLUMN members SET STORAGE MAIN;

-- Sessions that a late event may still change: a person's events with at most 30 minutes between them.
CREATE TABLE analytics.sessions (
    started timestamptz NOT NULL,
    ended timestamptz NOT NULL,
    space integer NOT NULL,
    number integer NOT NULL,
    PRIMARY KEY (space, number, started)
);
-- All of them, by the quarter of an hour (since 1970) in which they began.
CREATE TABLE analytics.session_quarters (
    microseconds bigint NOT NULL,
    space integer NOT NULL,
    quarter integer NOT NULL,
    sessions integer NOT NULL,
    PRIMARY KEY (space, quarter)
);

-- Requests at the gateways, by the minute.
CREATE TABLE analytics.request_counts (
    minute timestamptz NOT NULL,
    microseconds bigint NOT NULL,
    count bigint NOT NULL,
    gateway uuid NOT NULL,
    status_class smallint NOT NULL CHECK (status_class BETWEEN 0 AND 9),
    service text COLLATE "C" NOT NULL CHECK (octet_length(service) BETWEEN 1 AND 64),
    PRIMARY KEY (minute, gateway, service, status_class)
);

GRANT SELECT, UPDATE ON analytics.rollups TO martlet_analytics;
GRANT SELECT, INSERT, TRUNCATE ON analytics.batch TO martlet_analytics;
GRANT SELECT, INSERT, UPDATE, DELETE ON analytics.rolled_spaces, analytics.hours, analytics.days, analytics.person_numbers, analytics.person_starts,
    analytics.people_sets, analytics.sessions, analytics.session_quarters, analytics.request_counts TO martlet_analytics;
