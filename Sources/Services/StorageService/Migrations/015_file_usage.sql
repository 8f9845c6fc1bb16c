-- Keeps `_file_usage` of the space whose `_files` changed; in the transaction that changes it, so that it is exact.
CREATE FUNCTION storage.count_files() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    more bigint := 0;
    larger bigint := 0;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('UPDATE %I._file_usage SET files = 0, bytes = 0', TG_TABLE_SCHEMA);
        RETURN NULL;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        SELECT count(*), coalesce(sum(size), 0) INTO more, larger FROM after_files;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        SELECT more - count(*), larger - coalesce(sum(size), 0) INTO more, larger FROM before_files;
    END IF;
    IF more <> 0 OR larger <> 0 THEN
        EXECUTE format('UPDATE %I._file_usage SET files = files + $1, bytes = bytes + $2', TG_TABLE_SCHEMA) USING more, larger;
    END IF;
    RETURN NULL;
END
$function$;
