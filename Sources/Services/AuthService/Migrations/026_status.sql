-- The history of what the server used and how the database and the jobs were.

-- One row stands for the values of a series during `resolution` seconds from `start`. A new value is added to one row of each
-- resolution at once, so nothing has to be rolled up later. The average is sum / count.
CREATE TABLE auth.status_samples (
    resolution integer NOT NULL CHECK (resolution > 0),
    series text COLLATE "C" NOT NULL CHECK (octet_length(series) BETWEEN 1 AND 64),
    start timestamptz NOT NULL,
    count integer NOT NULL CHECK (count > 0),
    sum double precision NOT NULL,
    maximum double precision NOT NULL,
    PRIMARY KEY (resolution, series, start)
-- Room for the newest rows, which are updated many times.
) WITH (fillfactor = 80);

-- Which copy of auth samples the database and the jobs, and until when. One row.
CREATE TABLE auth.status_lease (
    number integer PRIMARY KEY CHECK (number = 1),
    holder uuid NOT NULL,
    until timestamptz NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.status_samples TO martlet_auth;
GRANT SELECT, INSERT, UPDATE ON auth.status_lease TO martlet_auth;

-- Figures of this database that the role of auth cannot see by itself: it sees nothing of other roles' sessions.
--
-- committed, rolled_back: transactions since the statistics began. locked: sessions that wait for a lock. oldest: the age in seconds of
-- the oldest open transaction. dead: which share of the rows is dead, in percent, as estimated by the statistics.
CREATE FUNCTION auth.database_figures(
    OUT committed bigint, OUT rolled_back bigint, OUT locked bigint, OUT oldest double precision, OUT dead double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
    SELECT d.xact_commit, d.xact_rollback, a.locked, a.oldest, t.dead
    FROM pg_stat_database AS d, (
        SELECT count(*) FILTER (WHERE wait_event_type = 'Lock') AS locked,
            coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::double precision AS oldest
        FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    ) AS a, (
        SELECT coalesce(100.0 * sum(n_dead_tup) / nullif(sum(n_live_tup + n_dead_tup), 0), 0)::double precision AS dead
        FROM pg_stat_user_tables
    ) AS t
    WHERE d.datname = current_database()
$function$;
REVOKE ALL ON FUNCTION auth.database_figures() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION auth.database_figures() TO martlet_auth;
