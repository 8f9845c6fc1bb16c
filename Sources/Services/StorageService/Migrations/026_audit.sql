-- What staff change in an app's data is written into the audit log (`auth` 020), by triggers in the app's schema.

-- As auth.record_change, which the roles of apps cannot name. The schema says which environment it was.
CREATE FUNCTION storage.record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    PERFORM auth.write_audit_row(
        TG_OP, TG_ARGV[0], TG_ARGV[1], string_to_array(TG_ARGV[2], ' '), string_to_array(TG_ARGV[3], ' '),
        CASE WHEN TG_TABLE_SCHEMA LIKE 'app\_%\_test' THEN 'test' ELSE 'live' END,
        CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END, CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END);
    RETURN NULL;
END
$function$;

-- A write of an object, from the change log: which object, and the names of its fields that changed.
CREATE FUNCTION storage.record_object() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    fields jsonb := (
        SELECT jsonb_agg(f ORDER BY f) FROM (
            SELECT jsonb_object_keys(NEW.doc) UNION SELECT jsonb_object_keys(NEW.before_doc)) AS all_fields (f)
        WHERE NEW.doc -> f IS DISTINCT FROM NEW.before_doc -> f);
BEGIN
    PERFORM auth.write_audit_entry(
        CASE NEW.kind WHEN 'c' THEN 'create-object' WHEN 'u' THEN 'update-object' ELSE 'delete-object' END, 'storage',
        NEW.collection || '/' || NEW.id, CASE WHEN TG_TABLE_SCHEMA LIKE 'app\_%\_test' THEN 'test' ELSE 'live' END, NULL,
        CASE WHEN NEW.kind <> 'd' THEN jsonb_build_object('fields', coalesce(fields, '[]')) END);
    RETURN NULL;
END
$function$;

-- An index, which is no row of a table. Writes nothing unless staff act.
CREATE FUNCTION storage.record_index(action text, schema text, collection text, name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    IF coalesce(current_setting('martlet.staff', TRUE), '') <> '' THEN
        PERFORM auth.write_audit_entry(
            action, 'storage', collection || '/' || name, CASE WHEN schema LIKE 'app\_%\_test' THEN 'test' ELSE 'live' END, NULL, NULL);
    END IF;
END
$function$;

SELECT
    auth.audit('storage.jobs', 'storage', 'job', 'id', 'kind state', 'INSERT OR DELETE OR UPDATE OF state'),
    auth.audit('storage.index_builds', 'storage', 'index-build', 'collection name', 'definition', 'INSERT OR DELETE');
