-- A space is an app's environment; what belongs to it carries its number.
CREATE TABLE analytics.spaces (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id text NOT NULL CHECK (length(app_id) BETWEEN 1 AND 32),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    created timestamptz NOT NULL DEFAULT now(),
    -- Its events received before this day are gone.
    swept date NOT NULL DEFAULT '-infinity',
    UNIQUE (app_id, environment)
);

-- Texts that many events share: an event carries their numbers. 0 stands for none.
CREATE TABLE analytics.terms (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space integer NOT NULL REFERENCES analytics.spaces,
    -- As `TermKind` numbers them.
    kind smallint NOT NULL CHECK (kind BETWEEN 1 AND 100),
    text text COLLATE "C" NOT NULL CHECK (octet_length(text) BETWEEN 1 AND 1000),
    UNIQUE (space, kind, text)
);

-- What happened, by the day it was received (UTC). Without NULLs, and with the widest columns first: a row is as small as it can be.
CREATE TABLE analytics.events (
    received timestamptz NOT NULL,
    -- When it happened, by the server's clock.
    at timestamptz NOT NULL,
    -- Of whose device or account it is: 64 bits of a digest; 0: nobody's.
    person bigint NOT NULL,
    -- Of its space and message id: 64 bits of a digest. An event that comes twice is found by it.
    key bigint NOT NULL,
    space integer NOT NULL,
    -- Terms.
    name integer NOT NULL,
    release integer NOT NULL,
    os integer NOT NULL,
    device integer NOT NULL,
    configuration integer NOT NULL,
    variants integer NOT NULL,
    country integer NOT NULL,
    -- As `EventKind` numbers them.
    kind smallint NOT NULL,
    properties jsonb NOT NULL
) PARTITION BY RANGE (received);

-- Days before and after today that the service may ask partitions for.
CREATE FUNCTION analytics.make_events_day(day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $function$
DECLARE
    name text := 'events_' || to_char(day, 'YYYYMMDD');
BEGIN
    IF day NOT BETWEEN (now() AT TIME ZONE 'UTC')::date - 3660 AND (now() AT TIME ZONE 'UTC')::date + 30 THEN
        RAISE EXCEPTION 'no day for events' USING ERRCODE = '22023';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('martlet.analytics.events', 0));
    IF to_regclass('analytics.' || name) IS NOT NULL THEN RETURN; END IF;
    -- Made and indexed beside the others, then taken in: nobody waits for its index.
    EXECUTE format('CREATE TABLE analytics.%I (LIKE analytics.events INCLUDING DEFAULTS)', name);
    EXECUTE format('ALTER TABLE analytics.%I ADD CONSTRAINT %I CHECK (received >= %L AND received < %L)', name, name || '_day',
        day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
    EXECUTE format('CREATE UNIQUE INDEX ON analytics.%I (key)', name);
    EXECUTE format('CREATE INDEX ON analytics.%I USING brin (received) WITH (pages_per_range = 32)', name);
    EXECUTE format('ALTER TABLE analytics.events ATTACH PARTITION analytics.%I FOR VALUES FROM (%L) TO (%L)', name,
        day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
    EXECUTE format('ALTER TABLE analytics.%I DROP CONSTRAINT %I', name, name || '_day');
END
$function$;

-- Retention: a day goes as a whole. Everything that reads or writes events waits while this one waits for a long question, so it waits
-- for a moment only, and comes again.
CREATE FUNCTION analytics.drop_events_day(day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' AS $function$
BEGIN
    IF day > (now() AT TIME ZONE 'UTC')::date - 1 THEN
        RAISE EXCEPTION 'a day that is not over' USING ERRCODE = '22023';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('martlet.analytics.events', 0));
    EXECUTE format('DROP TABLE IF EXISTS analytics.%I', 'events_' || to_char(day, 'YYYYMMDD'));
END
$function$;

-- The days that there are partitions of.
CREATE FUNCTION analytics.events_days() RETURNS SETOF date
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
    SELECT to_date(right(c.relname, 8), 'YYYYMMDD') FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'analytics.events'::regclass ORDER BY 1
$function$;

-- What is known of persons beyond their events; most have no row.
CREATE TABLE analytics.people (
    space integer NOT NULL REFERENCES analytics.spaces,
    person bigint NOT NULL,
    -- The account's person that a device's person, or another account's, turned out to be; 0: not known.
    account bigint NOT NULL DEFAULT 0,
    -- Since when nothing is taken of them.
    opted_out timestamptz,
    -- What `identify` said last, member by member, and when.
    traits jsonb NOT NULL DEFAULT '{}',
    traits_at timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (space, person)
);
CREATE INDEX people_account ON analytics.people (space, account) WHERE account <> 0;

-- A day's salt, of which visitors without an id are digests. It is gone two days later, and with it the way back to an address.
CREATE TABLE analytics.salts (
    day date PRIMARY KEY,
    salt bytea NOT NULL CHECK (octet_length(salt) = 32)
);

-- How a space wants its events. Without a row everything is at its default.
CREATE TABLE analytics.settings (
    space integer PRIMARY KEY REFERENCES analytics.spaces,
    retention_days integer NOT NULL CHECK (retention_days BETWEEN 1 AND 3650),
    privacy text NOT NULL CHECK (privacy IN ('standard', 'strict')),
    is_collecting boolean NOT NULL,
    -- In which days are counted, as the IANA names it.
    time_zone text NOT NULL CHECK (length(time_zone) BETWEEN 1 AND 64),
    changed timestamptz NOT NULL DEFAULT now(),
    changed_by text NOT NULL
);

REVOKE ALL ON FUNCTION analytics.make_events_day(date), analytics.drop_events_day(date), analytics.events_days() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION analytics.make_events_day(date), analytics.drop_events_day(date), analytics.events_days() TO martlet_analytics;
GRANT SELECT, INSERT, UPDATE, DELETE
    ON analytics.spaces, analytics.terms, analytics.events, analytics.people, analytics.salts, analytics.settings TO martlet_analytics;
