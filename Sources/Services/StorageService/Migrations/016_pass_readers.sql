-- Gives a file's earlier uploads the readers it has now, or had last. A trigger, not a part of the statement that changes the file: it sees what
-- was committed while that one waited for the file's row.
CREATE FUNCTION storage.pass_readers() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    EXECUTE format(
        'UPDATE %I._uploads SET readers = $1 WHERE path = $2 COLLATE "C" AND file = $3 AND readers IS DISTINCT FROM $1', TG_TABLE_SCHEMA)
        USING CASE TG_OP WHEN 'DELETE' THEN old.readers ELSE new.readers END, old.path, old.id;
    RETURN NULL;
END
$function$;
