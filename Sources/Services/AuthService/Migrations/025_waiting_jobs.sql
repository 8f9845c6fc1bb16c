-- How many jobs of each service are due and wait, at most 10,000. The role of auth can read no other service's tables.
CREATE FUNCTION auth.waiting_jobs() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    service text;
    waiting bigint;
    answer jsonb := '{}';
BEGIN
    FOR service IN
        SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.relname = 'jobs' AND c.relkind = 'r' AND n.nspname IN ('auth', 'storage', 'config', 'analytics', 'notifications')
    LOOP
        EXECUTE format(
            'SELECT count(*) FROM (SELECT FROM %I.jobs WHERE state = ''waiting'' AND due <= now() LIMIT 10000) AS j', service)
        INTO waiting;
        answer := answer || jsonb_build_object(service, waiting);
    END LOOP;
    RETURN answer;
END
$function$;
REVOKE ALL ON FUNCTION auth.waiting_jobs() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION auth.waiting_jobs() TO martlet_auth;
