-- Makes an app's schema and role, on first use. The schema belongs to the role, and no other app's role can see into it.
-- SECURITY DEFINER: the storage service may call this and may become the roles it makes, and may make no other role.
CREATE FUNCTION storage.provision(app text, environment text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    name text;
BEGIN
    IF app !~ '^[a-z][a-z0-9]{0,31}$' OR environment NOT IN ('live', 'test') THEN
        RAISE EXCEPTION 'not an app and environment' USING ERRCODE = '22023';
    END IF;
    name := 'app_' || app || CASE environment WHEN 'test' THEN '_test' ELSE '' END;
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('martlet.provision', 0));
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = name) THEN
        EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN NOINHERIT', name);
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_auth_members m
        WHERE m.roleid = pg_catalog.to_regrole(pg_catalog.quote_ident(name))
          AND m.member = pg_catalog.to_regrole('martlet_storage')
    ) THEN
        EXECUTE pg_catalog.format('GRANT %I TO martlet_storage', name);
    END IF;
    IF pg_catalog.to_regnamespace(pg_catalog.quote_ident(name)) IS NULL THEN
        EXECUTE pg_catalog.format('CREATE SCHEMA %I AUTHORIZATION %I', name, name);
    END IF;
END
$function$;

REVOKE ALL ON FUNCTION storage.provision(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION storage.provision(text, text) TO martlet_storage;
