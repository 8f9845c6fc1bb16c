-- Which statements take the database's time, what it is doing now, and what will become a problem. The role of auth
-- cannot see other roles' sessions and statistics by itself.

-- What a statement took during the hour that begins at `start`.
CREATE TABLE auth.statement_samples (
    start timestamptz NOT NULL,
    statement bigint NOT NULL,
    calls bigint NOT NULL,
    milliseconds double precision NOT NULL,
    -- The highest average of a minute; of samples, the longest time that was seen.
    maximum double precision NOT NULL,
    PRIMARY KEY (start, statement)
);

-- The texts, without values.
CREATE TABLE auth.statements (
    id bigint PRIMARY KEY,
    text text NOT NULL CHECK (length(text) <= 1000)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.statement_samples, auth.statements TO martlet_auth;

-- The statements of services that took the most time since the statistics began. No row without the extension
-- pg_stat_statements. Only statements whose texts have placeholders for values are included.
CREATE FUNCTION auth.statement_counts()
RETURNS TABLE (id bigint, statement text, calls bigint, milliseconds double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    place text := (
        SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE e.extname = 'pg_stat_statements');
BEGIN
    IF place IS NULL OR current_setting('shared_preload_libraries') !~ '\mpg_stat_statements\M' THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format($query$
        SELECT s.queryid, left(min(s.query), 1000), sum(s.calls)::bigint, sum(s.total_exec_time)
        FROM %I.pg_stat_statements AS s
        JOIN pg_roles AS r ON r.oid = s.userid
            AND r.rolname ~ '^(martlet_(auth|storage|config|analytics|notifications)|app_.*)$'
        WHERE s.dbid = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
            AND s.queryid IS NOT NULL AND s.query ~* '^\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH)\M'
        GROUP BY s.queryid ORDER BY 4 DESC LIMIT 200 $query$, place);
END
$function$;

-- Statements and open transactions that have taken longer than `minimum` seconds, at most 50. `statement` is null for
-- other roles, whose texts may contain values, and for SET, whose text always does: it may name a member of staff.
-- `blockers` are the pids of the sessions that hold the lock.
CREATE FUNCTION auth.running_statements(minimum double precision)
RETURNS TABLE (
    pid integer, role text, state text, seconds double precision, waits_for text, blockers integer[], statement text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
    SELECT a.pid, coalesce(a.usename::text, a.backend_type), coalesce(a.state, 'active'), t.seconds,
        CASE WHEN a.state = 'active' THEN a.wait_event_type || ': ' || a.wait_event END,
        CASE WHEN a.wait_event_type = 'Lock' THEN pg_blocking_pids(a.pid) ELSE '{}' END,
        CASE WHEN (a.usename ~ '^martlet_(auth|storage|config|analytics|notifications)$'
                OR a.backend_type = 'autovacuum worker') AND a.query NOT LIKE 'SET %' THEN left(a.query, 1000) END
    FROM pg_stat_activity AS a, LATERAL (
        SELECT extract(epoch FROM clock_timestamp()
            - CASE WHEN a.state LIKE 'idle in transaction%' THEN a.xact_start ELSE a.query_start END)::double precision
            AS seconds) AS t
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.state <> 'idle' AND t.seconds >= minimum
    ORDER BY t.seconds DESC, a.pid LIMIT 50
$function$;

-- The 30 largest tables, by the estimate of the last vacuum. `age`: transactions since the oldest row was frozen.
CREATE FUNCTION auth.largest_tables()
RETURNS TABLE (
    name text, bytes bigint, index_bytes bigint, live bigint, dead bigint, vacuumed timestamptz, age bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
    SELECT format('%I.%I', n.nspname, t.relname), coalesce(pg_total_relation_size(t.oid), 0),
        coalesce(pg_indexes_size(t.oid), 0), coalesce(pg_stat_get_live_tuples(t.oid), 0),
        coalesce(pg_stat_get_dead_tuples(t.oid), 0),
        greatest(pg_stat_get_last_vacuum_time(t.oid), pg_stat_get_last_autovacuum_time(t.oid)),
        age(t.relfrozenxid)::bigint
    FROM (
        SELECT c.oid, c.relname, c.relnamespace, c.relfrozenxid
        FROM pg_class AS c LEFT JOIN pg_class AS o ON o.oid = c.reltoastrelid
        -- Only the sizes of these are read, because each one is several calls of the file system.
        WHERE c.relkind = 'r' ORDER BY c.relpages + coalesce(o.relpages, 0) DESC, c.oid LIMIT 30
    ) AS t JOIN pg_namespace AS n ON n.oid = t.relnamespace
    ORDER BY 2 DESC, 1
$function$;

-- Figures that show in time what will stop the database.
--
-- transaction_age: transactions, or shared row locks, since the oldest row was frozen; PostgreSQL stops writing before
-- 2^31. archive_fails: whether the last attempt to archive WAL failed; WAL then stays until the disk is full.
-- slot_bytes: the WAL that stays for a replication slot. job_seconds: by service, how long the job that was due first
-- has waited.
CREATE FUNCTION auth.database_risks(
    OUT connections bigint, OUT maximum_connections bigint, OUT transaction_age bigint, OUT archive_fails boolean,
    OUT slot_bytes bigint, OUT job_seconds jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    service text;
    seconds double precision;
BEGIN
    connections := (SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database);
    maximum_connections := current_setting('max_connections')::bigint;
    transaction_age := (SELECT max(greatest(age(datfrozenxid), mxid_age(datminmxid))) FROM pg_database);
    archive_fails := EXISTS (
        SELECT FROM pg_stat_archiver WHERE last_failed_time > coalesce(last_archived_time, '-infinity'));
    slot_bytes := CASE WHEN pg_is_in_recovery() THEN 0 ELSE (
        SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), 0) FROM pg_replication_slots) END;
    job_seconds := '{}';
    FOR service IN
        SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.relname = 'jobs' AND c.relkind = 'r'
            AND n.nspname IN ('auth', 'storage', 'config', 'analytics', 'notifications')
    LOOP
        EXECUTE format(
            'SELECT extract(epoch FROM now() - min(due)) FROM %I.jobs WHERE state = ''waiting'' AND due <= now()', service)
        INTO seconds;
        job_seconds := job_seconds || jsonb_build_object(service, coalesce(seconds, 0));
    END LOOP;
END
$function$;

-- As before, and besides jobs: `push` deliveries and `mail` of apps that are due and wait.
CREATE OR REPLACE FUNCTION auth.waiting_jobs() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    queue record;
    waiting bigint;
    answer jsonb := '{}';
BEGIN
    FOR queue IN
        SELECT n.nspname AS place, c.relname AS name,
            CASE c.relname WHEN 'jobs' THEN n.nspname::text WHEN 'deliveries' THEN 'push' ELSE 'mail' END AS series,
            CASE c.relname WHEN 'jobs' THEN 'waiting' ELSE 'queued' END AS state
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r'
            AND (c.relname = 'jobs' AND n.nspname IN ('auth', 'storage', 'config', 'analytics', 'notifications')
                OR c.relname IN ('deliveries', 'mails') AND n.nspname = 'notifications')
    LOOP
        EXECUTE format(
            'SELECT count(*) FROM (SELECT FROM %I.%I WHERE state = %L AND due <= now() LIMIT 10000) AS q',
            queue.place, queue.name, queue.state)
        INTO waiting;
        answer := answer || jsonb_build_object(queue.series, waiting);
    END LOOP;
    RETURN answer;
END
$function$;

REVOKE ALL ON FUNCTION auth.statement_counts(), auth.running_statements(double precision), auth.largest_tables(),
    auth.database_risks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION auth.statement_counts(), auth.running_statements(double precision), auth.largest_tables(),
    auth.database_risks() TO martlet_auth;
