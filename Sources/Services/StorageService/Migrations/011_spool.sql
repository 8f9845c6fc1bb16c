-- Files on their way in and out (imports and exports), in portions. A file goes with its job.
CREATE TABLE storage.job_files (
    id uuid PRIMARY KEY,
    job uuid REFERENCES storage.jobs ON DELETE CASCADE,
    name text NOT NULL,
    content_type text NOT NULL,
    size bigint NOT NULL DEFAULT 0,
    complete boolean NOT NULL DEFAULT FALSE,
    created timestamptz NOT NULL DEFAULT now());
CREATE INDEX job_files_job ON storage.job_files (job);
CREATE INDEX job_files_orphans ON storage.job_files (created) WHERE job IS NULL;

CREATE TABLE storage.job_portions (
    file uuid NOT NULL REFERENCES storage.job_files ON DELETE CASCADE,
    number integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (file, number));

GRANT SELECT, INSERT, UPDATE, DELETE ON storage.job_files, storage.job_portions TO martlet_storage;

-- The role that copies an app's live data into its test environment: it may read the one and fill tables of the other that are
-- made for it, and nothing else. No member of either environment's role, so that neither may do what the other may.
CREATE FUNCTION storage.provision_copy(app text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    live text := 'app_' || app;
    copier text := 'app_' || app || '_copy';
    missing record;
BEGIN
    IF app !~ '^[a-z][a-z0-9]{0,31}$' THEN
        RAISE EXCEPTION 'not an app' USING ERRCODE = '22023';
    END IF;
    PERFORM storage.provision(app, 'live'), storage.provision(app, 'test');
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('martlet.provision', 0));
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = copier) THEN
        EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN NOINHERIT', copier);
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_auth_members m
        WHERE m.roleid = pg_catalog.to_regrole(pg_catalog.quote_ident(copier))
          AND m.member = pg_catalog.to_regrole('martlet_storage')
    ) THEN
        EXECUTE pg_catalog.format('GRANT %I TO martlet_storage', copier);
    END IF;
    IF NOT pg_catalog.has_schema_privilege(copier, live, 'USAGE') THEN
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA %I TO %I', live, copier);
    END IF;
    IF NOT pg_catalog.has_schema_privilege(copier, live || '_test', 'USAGE') THEN
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA %I TO %I', live || '_test', copier);
    END IF;
    -- Table by table, and only where it is missing: a GRANT on a table waits for those who change it.
    FOR missing IN
        SELECT c.oid::pg_catalog.regclass AS name FROM pg_catalog.pg_class c
        WHERE c.relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident(live)) AND c.relkind = 'r'
          AND NOT pg_catalog.has_table_privilege(copier, c.oid, 'SELECT')
    LOOP
        EXECUTE pg_catalog.format('GRANT SELECT ON %s TO %I', missing.name, copier);
    END LOOP;
END
$function$;

REVOKE ALL ON FUNCTION storage.provision_copy(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION storage.provision_copy(text) TO martlet_storage;
