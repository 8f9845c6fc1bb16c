-- The readers and writers that an object had before a moderator hid it (space 032) count only as long as it is hidden.

-- For a write of an object that had no readers, and now has readers or writers, or is deleted. Its server may close it
-- later, or use its id again; it must not count as hidden then.
CREATE FUNCTION storage.forget_hidden() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    is_kept boolean;
BEGIN
    IF new.kind = 'd' THEN
        -- A removed object is logged as deleted, too, and stays hidden.
        EXECUTE format('SELECT TRUE FROM %I.%I WHERE id = $1', TG_TABLE_SCHEMA, new.collection) INTO is_kept USING new.id;
    END IF;
    IF is_kept IS NULL THEN
        EXECUTE format(
            'UPDATE %I._reports SET hidden = NULL WHERE collection = $1 AND object = $2 AND hidden IS NOT NULL', TG_TABLE_SCHEMA)
            USING new.collection, new.id;
    END IF;
    RETURN NULL;
END
$function$;
