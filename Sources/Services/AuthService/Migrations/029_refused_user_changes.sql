-- A further change of a user keeps the number of attempts if storage did not accept the last one. Otherwise a user who changes often would hide
-- from the alert that storage refuses the profile. A first attempt may still be under way, so it does not count.
CREATE OR REPLACE FUNCTION auth.tell_of_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    changed auth.users;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
    INSERT INTO auth.user_changes AS c (user_id, app_id, environment, version)
    VALUES (changed.id, changed.app_id, changed.environment, nextval('auth.user_versions'))
    -- Drawn anew, because this waits for whoever is writing the row.
    ON CONFLICT (user_id, app_id, environment) DO UPDATE SET version = nextval('auth.user_versions'), due = now(),
        attempts = CASE WHEN c.attempts > 1 THEN c.attempts ELSE 0 END;
    PERFORM pg_notify('martlet_user_changes', '');
    RETURN NULL;
END
$function$;
