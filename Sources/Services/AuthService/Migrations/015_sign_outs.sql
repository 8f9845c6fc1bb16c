-- Who keeps something for a session, as notifications does of devices, is told when it ends, whatever ends it: by a job (`SignOutOfPush`) for each user
-- and transaction, stored with the end itself.
CREATE FUNCTION auth.tell_of_ended_session() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    -- Tokens of clients open nothing outside of the provider.
    IF OLD.revoked IS NULL AND NOT EXISTS (SELECT FROM auth.client_sessions WHERE session_id = OLD.id) THEN
        INSERT INTO auth.jobs AS j (id, kind, unique_key, parameters, maximum_attempts)
        VALUES (
            gen_random_uuid(), 'users.sign-out', OLD.user_id::text || ' ' || pg_current_xact_id()::text || ' ' || extract(epoch FROM now())::text,
            -- isFresh: access tokens of it may be good still.
            jsonb_build_object('user', OLD.user_id, 'sessions', jsonb_build_array(OLD.id), 'isFresh', OLD.rotated > now() - interval '16 minutes'),
            2147483647)
        ON CONFLICT (kind, unique_key) WHERE finished IS NULL AND unique_key IS NOT NULL DO UPDATE SET parameters = jsonb_build_object(
            'user', OLD.user_id, 'sessions', (j.parameters -> 'sessions') || (excluded.parameters -> 'sessions'),
            'isFresh', (j.parameters ->> 'isFresh')::boolean OR (excluded.parameters ->> 'isFresh')::boolean);
        PERFORM pg_notify('auth_jobs', '');
    END IF;
    RETURN NULL;
END
$function$;

CREATE TRIGGER tell_deleted AFTER DELETE ON auth.sessions FOR EACH ROW EXECUTE FUNCTION auth.tell_of_ended_session();
CREATE TRIGGER tell_revoked AFTER UPDATE OF revoked ON auth.sessions FOR EACH ROW
    WHEN (NEW.revoked IS NOT NULL) EXECUTE FUNCTION auth.tell_of_ended_session();
