-- An app's role may call the functions of this schema that are granted to everyone; it sees no table in it.
CREATE OR REPLACE FUNCTION storage.provision(app text, environment text) RETURNS void
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
    IF NOT pg_catalog.has_schema_privilege(name, 'storage', 'USAGE') THEN
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA storage TO %I', name);
    END IF;
END
$function$;

-- Which of its tables a space has: the number of the last script of `space_NNN_…` that ran in it.
CREATE TABLE storage.spaces (
    schema text PRIMARY KEY,
    version integer NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON storage.spaces TO martlet_storage;

-- Ends the statement it stands in: for what only a statement under way can notice. `code` is an SQLSTATE.
CREATE FUNCTION storage.fail(code text, message text) RETURNS boolean
LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION '%', message USING ERRCODE = code;
END
$function$;

-- The document with atomic operations carried out: {"a.b":{"__op":"Increment","amount":1}, "c":value}.
--
-- Increment, SetOnInsert (only when `is_new`), Add, AddUnique, Remove, Delete, AddRelation, RemoveRelation (the field becomes a Relation; the
-- members are kept elsewhere); any other value is set. A dotted key reaches into objects, which are made where they are missing.
-- Fails with MT422 and the field's name when the stored value does not allow the operation.
CREATE FUNCTION storage.apply(doc jsonb, operations jsonb, is_new boolean) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    name text;
    value jsonb;
    path text[];
    depth integer;
    current jsonb;
    item jsonb;
    operation text;
BEGIN
    FOR name, value IN SELECT key, o.value FROM jsonb_each(operations) AS o (key, value) LOOP
        path := string_to_array(name, '.');
        operation := CASE jsonb_typeof(value) WHEN 'object' THEN value->>'__op' END;
        current := doc #> path;
        IF operation IS NULL THEN
            NULL;
        ELSIF operation = 'Delete' THEN
            IF current IS NOT NULL THEN
                doc := doc #- path;
            END IF;
            CONTINUE;
        ELSIF operation = 'SetOnInsert' THEN
            IF NOT is_new THEN
                CONTINUE;
            END IF;
            value := value->'amount';
        ELSIF operation = 'Increment' THEN
            IF current IS NULL OR current = 'null' THEN
                value := value->'amount';
            ELSIF jsonb_typeof(current) = 'number' THEN
                value := to_jsonb((current #>> '{}')::numeric + (value->>'amount')::numeric);
                IF octet_length(value::text) > 400 THEN
                    RAISE EXCEPTION '%', name USING ERRCODE = 'MT422';
                END IF;
            ELSE
                RAISE EXCEPTION '%', name USING ERRCODE = 'MT422';
            END IF;
        ELSIF operation IN ('AddRelation', 'RemoveRelation') THEN
            IF current IS NOT NULL AND current <> 'null' AND current->>'__type' IS DISTINCT FROM 'Relation' THEN
                RAISE EXCEPTION '%', name USING ERRCODE = 'MT422';
            END IF;
            IF current IS NOT NULL AND current->>'className' <> value->>'className' THEN
                RAISE EXCEPTION '%', name USING ERRCODE = 'MT422';
            END IF;
            value := jsonb_build_object('__type', 'Relation', 'className', value->'className');
        ELSE
            IF current IS NULL OR current = 'null' THEN
                current := '[]';
            ELSIF jsonb_typeof(current) <> 'array' THEN
                RAISE EXCEPTION '%', name USING ERRCODE = 'MT422';
            END IF;
            IF operation = 'Add' THEN
                value := current || (value->'objects');
            ELSIF operation = 'AddUnique' THEN
                FOR item IN SELECT e FROM jsonb_array_elements(value->'objects') AS e LOOP
                    IF NOT EXISTS (SELECT FROM jsonb_array_elements(current) AS c WHERE c = item) THEN
                        current := current || jsonb_build_array(item);
                    END IF;
                END LOOP;
                value := current;
            ELSIF operation = 'Remove' THEN
                SELECT coalesce(jsonb_agg(c.item ORDER BY c.position), '[]') INTO value
                FROM jsonb_array_elements(current) WITH ORDINALITY AS c (item, position)
                WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(operations->name->'objects') AS e WHERE e = c.item);
            ELSE
                RAISE EXCEPTION '%', name USING ERRCODE = 'MT422';
            END IF;
        END IF;
        FOR depth IN 1 .. cardinality(path) - 1 LOOP
            current := doc #> path[1:depth];
            IF current IS NULL OR current = 'null' THEN
                doc := jsonb_set(doc, path[1:depth], '{}');
            ELSIF jsonb_typeof(current) <> 'object' THEN
                RAISE EXCEPTION '%', name USING ERRCODE = 'MT422';
            END IF;
        END LOOP;
        doc := jsonb_set(doc, path, value);
    END LOOP;
    RETURN doc;
END
$function$;

-- Field → list of types, of both: {"a":["String"]} and {"a":["Number"]} are {"a":["Number","String"]}.
CREATE FUNCTION storage.merge_fields(old jsonb, new jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $function$
    SELECT coalesce(jsonb_object_agg(field, types), '{}') FROM (
        SELECT field, jsonb_agg(DISTINCT type) AS types FROM (
            SELECT e.key AS field, t.value AS type FROM jsonb_each(old) AS e, jsonb_array_elements(e.value) AS t
            UNION ALL
            SELECT e.key, t.value FROM jsonb_each(new) AS e, jsonb_array_elements(e.value) AS t) AS each
        GROUP BY field) AS merged
$function$;
