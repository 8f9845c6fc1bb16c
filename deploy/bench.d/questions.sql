-- What `deploy/bench questions` asks about: EVENTS events of one space in 30 days, as the ingest would have written them.
--   psql -v space=1 -v events=10000000 -f questions.sql "$database"      (as the owner of the schema; the space must exist)
-- There are 200,000 persons, of whom a few come often, and visits of 8 events. There are 40 names, 8 screens, 12 releases, 8 systems, 150 devices,
-- 60 countries and 5 configurations; of most, a few are frequent. Except for the days, the data are the same on every run.
\set ON_ERROR_STOP on
SET synchronous_commit = off;
SELECT setseed(0.5) \g /dev/null
INSERT INTO analytics.terms (space, kind, text)
SELECT :space, kind, text FROM (
    SELECT 1, 'event ' || n FROM generate_series(0, 39) AS n UNION ALL SELECT 1, 'screen ' || n FROM generate_series(0, 7) AS n
    UNION ALL SELECT 2, '1.' || n || '.0' FROM generate_series(0, 11) AS n UNION ALL SELECT 3, 'iOS ' || n FROM generate_series(10, 17) AS n
    UNION ALL SELECT 4, 'iPhone' || n || ',1' FROM generate_series(0, 149) AS n
    UNION ALL SELECT 5, '1.' || n || '.0@3' FROM generate_series(0, 4) AS n
    UNION ALL SELECT 7, chr(65 + n / 10) || chr(65 + n % 10) FROM generate_series(0, 59) AS n) AS made (kind, text)
ON CONFLICT DO NOTHING;
CREATE TEMPORARY TABLE term AS
SELECT array_agg(id ORDER BY id) FILTER (WHERE kind = 1 AND text LIKE 'event%') AS names,
    array_agg(id ORDER BY id) FILTER (WHERE kind = 1 AND text LIKE 'screen%') AS screens,
    array_agg(id ORDER BY id) FILTER (WHERE kind = 2) AS releases, array_agg(id ORDER BY id) FILTER (WHERE kind = 3) AS systems,
    array_agg(id ORDER BY id) FILTER (WHERE kind = 4) AS devices, array_agg(id ORDER BY id) FILTER (WHERE kind = 5) AS configurations,
    array_agg(id ORDER BY id) FILTER (WHERE kind = 7) AS countries
FROM analytics.terms WHERE space = :space;

SELECT analytics.make_events_day(day::date)
FROM generate_series((now() AT TIME ZONE 'UTC')::date - 30, (now() AT TIME ZONE 'UTC')::date - 1, interval '1 day') AS day \g /dev/null

-- One statement inserts a day, in order of time, as events would have arrived.
SELECT format($$
    INSERT INTO analytics.events (received, at, person, key, space, name, release, os, device, configuration, variants, country, kind, properties)
    SELECT at + interval '2 seconds', at, hashint8extended(person, 7), hashint8extended(visit * 16 + step, %2$s), %4$s,
        CASE WHEN step %% 3 = 1 THEN screens[1 + floor(8 * random() ^ 2)::int] ELSE names[1 + floor(40 * random() ^ 3)::int] END,
        releases[1 + floor(12 * ((person %% 97) / 97.0) ^ 2)::int], systems[1 + (person %% 8)::int],
        devices[1 + floor(150 * ((person %% 1009) / 1009.0) ^ 2)::int], configurations[1 + (person %% 5)::int], 0,
        countries[1 + floor(60 * ((person %% 503) / 503.0) ^ 2)::int], CASE WHEN step %% 3 = 1 THEN 2 ELSE 1 END,
        jsonb_build_object('plan', CASE WHEN person %% 9 = 0 THEN 'pro' ELSE 'free' END, 'step', step)
    FROM (
        SELECT visit, step, person, start + step * interval '37 seconds' AS at FROM (
            SELECT visit, floor(200000 * random() ^ 2.5)::bigint AS person,
                %1$L::timestamp AT TIME ZONE 'UTC' + floor(86100 * sqrt(random())) * interval '1 second' AS start
            FROM generate_series(1, %3$s) AS visit OFFSET 0) AS visits, generate_series(0, 7) AS step OFFSET 0) AS happened, term
    ORDER BY at;
$$, day::date, extract(epoch FROM day)::bigint / 86400, ceil(:events / 240.0)::int, :space)
FROM generate_series((now() AT TIME ZONE 'UTC')::date - 30, (now() AT TIME ZONE 'UTC')::date - 1, interval '1 day') AS day
\gexec
