-- PostgreSQL keeps in each session the list of roles that martlet_storage may become. One that is read while another session commits
-- a new role may miss it and be kept (15: roles_is_member_of in acl.c notes the list after the sign that it is stale). This changes a
-- membership there and back, in a transaction of its own after the one that made the role, so that every list is read anew.
CREATE FUNCTION storage.confirm(app text, environment text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    name text;
BEGIN
    IF app !~ '^[a-z][a-z0-9]{0,31}$' OR environment NOT IN ('live', 'test') THEN
        RAISE EXCEPTION 'not an app and environment' USING ERRCODE = '22023';
    END IF;
    name := 'app_' || app || CASE environment WHEN 'test' THEN '_test' ELSE '' END;
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('martlet.provision', 0));
    EXECUTE pg_catalog.format('GRANT %I TO martlet_storage WITH ADMIN OPTION', name);
    EXECUTE pg_catalog.format('REVOKE ADMIN OPTION FOR %I FROM martlet_storage', name);
END
$function$;

REVOKE ALL ON FUNCTION storage.confirm(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION storage.confirm(text, text) TO martlet_storage;
