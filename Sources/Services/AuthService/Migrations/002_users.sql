-- The end users of apps. Live and test know nothing of each other.
CREATE TABLE auth.users (
    id uuid PRIMARY KEY,
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    user_name text CHECK (user_name ~ '^[a-z0-9][a-z0-9._-]{1,63}$'),
    email text CHECK (length(email) BETWEEN 3 AND 254 AND email = lower(email)),
    email_verified boolean NOT NULL DEFAULT FALSE,
    -- Argon2id in PHC string format, with its salt and parameters. NULL: an anonymous user.
    password text,
    -- What everybody who uses the app may see, and what the user alone may.
    profile jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(profile) = 'object'),
    private jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(private) = 'object'),
    disabled boolean NOT NULL DEFAULT FALSE,
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now(),
    last_sign_in timestamptz,
    CONSTRAINT users_password_needs_name CHECK (password IS NULL OR user_name IS NOT NULL OR email IS NOT NULL),
    -- As text, with all numbers written out.
    CONSTRAINT users_profile_size CHECK (octet_length(profile::text) <= 65536 AND octet_length(private::text) <= 65536)
);

CREATE UNIQUE INDEX users_user_name ON auth.users (app_id, environment, user_name);
CREATE UNIQUE INDEX users_email ON auth.users (app_id, environment, email);
CREATE INDEX users_app ON auth.users (app_id, environment, id);

-- A device on which a user is signed in: one family of refresh tokens (RFC 9700 §4.14). No token is kept, only how many the family has had.
CREATE TABLE auth.sessions (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES auth.users (id) ON DELETE CASCADE,
    device text NOT NULL DEFAULT '' CHECK (length(device) <= 200),
    created timestamptz NOT NULL DEFAULT now(),
    -- The newest token's number, and when it was handed out.
    generation integer NOT NULL DEFAULT 0,
    rotated timestamptz NOT NULL DEFAULT now(),
    expires timestamptz NOT NULL,
    revoked timestamptz
) WITH (fillfactor = 80);

CREATE INDEX sessions_user ON auth.sessions (user_id, created);

-- Sessions that ended while one of their access tokens may be good still: what gateways have to refuse.
CREATE TABLE auth.revocations (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id uuid NOT NULL,
    -- When the last access token has run out.
    until timestamptz NOT NULL
);

-- Takes a lock, so that numbers are visible in their order and a follower misses none.
CREATE FUNCTION auth.session_ended() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    IF OLD.revoked IS NULL AND OLD.rotated > now() - interval '16 minutes' THEN
        PERFORM pg_catalog.pg_advisory_xact_lock(7215402);
        INSERT INTO auth.revocations (session_id, until) VALUES (OLD.id, OLD.rotated + interval '16 minutes');
        PERFORM pg_catalog.pg_notify('martlet_revocations', '');
    END IF;
    RETURN NULL;
END
$function$;

CREATE TRIGGER deleted AFTER DELETE ON auth.sessions FOR EACH ROW EXECUTE FUNCTION auth.session_ended();
CREATE TRIGGER revoked AFTER UPDATE OF revoked ON auth.sessions FOR EACH ROW
    WHEN (NEW.revoked IS NOT NULL) EXECUTE FUNCTION auth.session_ended();

-- What access tokens are signed with. The private halves are sealed with a key that only the processes have.
CREATE TABLE auth.signing_keys (
    id text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9_-]{1,64}$'),
    -- A point of P-256, uncompressed (X9.63).
    public_key bytea NOT NULL CHECK (length(public_key) = 65),
    sealed_private_key bytea NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    -- Published before, so that whoever keeps a copy of the keys has it in time.
    signs_from timestamptz NOT NULL,
    -- Tokens signed with it are refused from then on.
    expires timestamptz
);

CREATE TRIGGER key_ring AFTER INSERT OR UPDATE OR DELETE ON auth.signing_keys
    FOR EACH STATEMENT EXECUTE FUNCTION auth.key_ring_changed();

-- How often signing in was tried in vain, by SHA-256 of whatever is counted. Lost in a crash, which is no harm.
CREATE UNLOGGED TABLE auth.attempts (
    key bytea PRIMARY KEY CHECK (length(key) = 32),
    -- Seeps away with time, so not a whole number.
    failures double precision NOT NULL,
    -- No attempt counts, nor is looked at, before.
    not_before timestamptz NOT NULL,
    updated timestamptz NOT NULL
);
CREATE INDEX ON auth.attempts (updated);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.users, auth.sessions, auth.signing_keys, auth.attempts TO martlet_auth;
GRANT SELECT, DELETE ON auth.revocations TO martlet_auth;
