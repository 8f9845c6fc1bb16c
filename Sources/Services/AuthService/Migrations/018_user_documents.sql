-- Public profiles are passed on to storage, which keeps them as the collection `_User` (`PublishUsers`).

-- One row for each user of whose last change storage does not know yet. It outlives the user.
CREATE TABLE auth.user_changes (
    user_id uuid NOT NULL,
    app_id text NOT NULL,
    environment text NOT NULL,
    -- Drawn while the user's row is locked, so a later state has a greater one.
    version bigint NOT NULL,
    due timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, app_id, environment)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX user_changes_due ON auth.user_changes (due);
CREATE SEQUENCE auth.user_versions;

CREATE FUNCTION auth.tell_of_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    changed auth.users;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
    INSERT INTO auth.user_changes (user_id, app_id, environment, version)
    VALUES (changed.id, changed.app_id, changed.environment, nextval('auth.user_versions'))
    -- Drawn anew, because this waits for whoever is writing the row.
    ON CONFLICT (user_id, app_id, environment) DO UPDATE SET version = nextval('auth.user_versions'), due = now(), attempts = 0;
    PERFORM pg_notify('martlet_user_changes', '');
    RETURN NULL;
END
$function$;

CREATE TRIGGER tell_created AFTER INSERT ON auth.users FOR EACH ROW EXECUTE FUNCTION auth.tell_of_user();
CREATE TRIGGER tell_deleted AFTER DELETE ON auth.users FOR EACH ROW EXECUTE FUNCTION auth.tell_of_user();
CREATE TRIGGER tell_changed AFTER UPDATE OF user_name, profile, disabled, deleting, email, email_verified ON auth.users FOR EACH ROW
    WHEN ((OLD.user_name, OLD.profile, OLD.disabled, OLD.deleting, OLD.email IS NOT NULL AND OLD.email_verified)
        IS DISTINCT FROM (NEW.user_name, NEW.profile, NEW.disabled, NEW.deleting, NEW.email IS NOT NULL AND NEW.email_verified))
    EXECUTE FUNCTION auth.tell_of_user();

-- The users that exist already (`PublishAllUsers`).
INSERT INTO auth.jobs (id, kind, unique_key, parameters, maximum_attempts)
SELECT gen_random_uuid(), 'users.publish', 'all', '{}', 2147483647 WHERE EXISTS (SELECT FROM auth.users);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.user_changes TO martlet_auth;
GRANT USAGE ON SEQUENCE auth.user_versions TO martlet_auth;
