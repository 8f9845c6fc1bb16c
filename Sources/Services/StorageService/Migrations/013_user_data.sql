-- For erasing a user's data: fields that name users, by id, by a pointer, or in a list of these.

-- Whether a value is the user's id or a pointer to them.
CREATE FUNCTION storage.is_user(value jsonb, id text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
    SELECT value = to_jsonb(id)
        OR (jsonb_typeof(value) = 'object' AND value @> jsonb_build_object('__type', 'Pointer', 'objectId', id))
$function$;

-- The document with the user taken out of fields that say whose it is; `paths` is a list of lists of names. As it was when none names the
-- user; NULL when they name nobody else: then it is the user's own.
CREATE FUNCTION storage.without_user(doc jsonb, paths jsonb, id text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    path text[];
    value jsonb;
    rest jsonb;
    is_named boolean := FALSE;
    has_others boolean := FALSE;
BEGIN
    FOR path IN SELECT ARRAY(SELECT jsonb_array_elements_text(p)) FROM jsonb_array_elements(paths) AS p LOOP
        value := doc #> path;
        IF value IS NULL OR value = 'null' THEN
            NULL;
        ELSIF jsonb_typeof(value) = 'array' THEN
            SELECT coalesce(jsonb_agg(e.item ORDER BY e.position), '[]') INTO rest
            FROM jsonb_array_elements(value) WITH ORDINALITY AS e (item, position) WHERE NOT storage.is_user(e.item, id);
            has_others := has_others OR rest <> '[]';
            IF rest <> value THEN
                is_named := TRUE;
                doc := jsonb_set(doc, path, rest);
            END IF;
        ELSIF storage.is_user(value, id) THEN
            is_named := TRUE;
            doc := doc #- path;
        ELSE
            has_others := TRUE;
        END IF;
    END LOOP;
    RETURN CASE WHEN is_named AND NOT has_others THEN NULL ELSE doc END;
END
$function$;
