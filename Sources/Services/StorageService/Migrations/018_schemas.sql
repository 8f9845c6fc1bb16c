-- Collections with a schema: PostgreSQL takes a document only from a writer who has checked it against the current one.

-- Names the schema that a document was checked against, until the end of the transaction; `*` for writes that no schema may prevent.
-- With its owner's rights, because the roles of apps may not use set_config.
CREATE FUNCTION storage.checked(doc jsonb, revision text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    PERFORM set_config('martlet.schema', revision, TRUE);
    RETURN doc;
END
$function$;

-- A serialization failure (40001), because the writer has to read the schema again and repeat the write.
CREATE FUNCTION storage.require_checked() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    IF coalesce(current_setting('martlet.schema', TRUE), '') NOT IN (TG_ARGV[0], '*') THEN
        RAISE EXCEPTION 'the collection has another schema than the document was checked against' USING ERRCODE = '40001';
    END IF;
    RETURN new;
END
$function$;
