ALTER TABLE auth.staff
    ADD COLUMN disabled boolean NOT NULL DEFAULT FALSE,
    -- App or * → area → actions.
    ADD COLUMN rights jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(rights) = 'object' AND octet_length(rights::text) <= 32768),
    ADD COLUMN updated timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN last_sign_in timestamptz;

-- Gateways know who may do what: what changes is in force everywhere at once.
CREATE TRIGGER key_ring AFTER INSERT OR DELETE OR UPDATE OF user_name, is_administrator, disabled, rights
    ON auth.staff FOR EACH STATEMENT EXECUTE FUNCTION auth.key_ring_changed();

-- Somebody must be able to let others in. The lock lets one change at a time through, which sees all before it.
CREATE FUNCTION auth.keep_an_administrator() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    PERFORM pg_catalog.pg_advisory_xact_lock(7215403);
    IF NOT EXISTS (SELECT FROM auth.staff WHERE is_administrator AND NOT disabled) THEN
        RAISE EXCEPTION 'the last administrator' USING ERRCODE = 'check_violation', CONSTRAINT = 'staff_last_administrator';
    END IF;
    RETURN NULL;
END
$function$;

CREATE TRIGGER last_administrator AFTER DELETE OR UPDATE OF is_administrator, disabled ON auth.staff FOR EACH ROW
    WHEN (OLD.is_administrator AND NOT OLD.disabled) EXECUTE FUNCTION auth.keep_an_administrator();

-- As auth.sessions, of staff.
CREATE TABLE auth.staff_sessions (
    id uuid PRIMARY KEY,
    staff_id uuid NOT NULL REFERENCES auth.staff (id) ON DELETE CASCADE,
    device text NOT NULL DEFAULT '' CHECK (length(device) <= 200),
    -- How long a refresh token lasts: longer for who wanted to stay signed in.
    lifetime interval NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    generation integer NOT NULL DEFAULT 0,
    rotated timestamptz NOT NULL DEFAULT now(),
    expires timestamptz NOT NULL,
    revoked timestamptz
) WITH (fillfactor = 80);

CREATE INDEX staff_sessions_staff ON auth.staff_sessions (staff_id, created);

CREATE TRIGGER deleted AFTER DELETE ON auth.staff_sessions FOR EACH ROW EXECUTE FUNCTION auth.session_ended();
CREATE TRIGGER revoked AFTER UPDATE OF revoked ON auth.staff_sessions FOR EACH ROW
    WHEN (NEW.revoked IS NOT NULL) EXECUTE FUNCTION auth.session_ended();

-- As auth.second_factors and auth.recovery_codes, of staff.
CREATE TABLE auth.staff_second_factors (
    staff_id uuid PRIMARY KEY REFERENCES auth.staff (id) ON DELETE CASCADE,
    sealed_secret bytea NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    confirmed timestamptz,
    last_step bigint NOT NULL DEFAULT 0
);

CREATE TABLE auth.staff_recovery_codes (
    staff_id uuid NOT NULL REFERENCES auth.staff_second_factors (staff_id) ON DELETE CASCADE,
    mac bytea NOT NULL CHECK (length(mac) = 32),
    PRIMARY KEY (staff_id, mac)
);

-- How often staff signed in. Who has been deleted stays counted.
CREATE TABLE auth.staff_sign_ins (
    -- The first day, in UTC.
    month date NOT NULL,
    staff_id uuid NOT NULL,
    user_name text NOT NULL,
    count bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (month, staff_id)
);

-- What staff did. Written once: the service's role may neither change nor delete.
CREATE TABLE auth.audit_log (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Who, also when they are gone. No id: the operator, by command.
    staff_id uuid,
    staff_name text NOT NULL,
    action text NOT NULL,
    area text NOT NULL,
    app_id text,
    target text,
    -- Without secrets.
    before jsonb,
    after jsonb,
    address text NOT NULL DEFAULT ''
);

CREATE INDEX audit_log_staff ON auth.audit_log (staff_id, number);
CREATE INDEX audit_log_app ON auth.audit_log (app_id, number);
CREATE INDEX audit_log_at ON auth.audit_log (at);

GRANT DELETE ON auth.staff TO martlet_auth;
GRANT SELECT, INSERT, UPDATE, DELETE ON auth.staff_sessions, auth.staff_second_factors, auth.staff_recovery_codes TO martlet_auth;
GRANT SELECT, INSERT, UPDATE ON auth.staff_sign_ins TO martlet_auth;
GRANT SELECT, INSERT ON auth.audit_log TO martlet_auth;
