CREATE TABLE auth.apps (
    id text PRIMARY KEY CHECK (id ~ '^[a-z][a-z0-9]{0,31}$'),
    number integer GENERATED ALWAYS AS IDENTITY UNIQUE,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    created timestamptz NOT NULL DEFAULT now(),
    archived timestamptz
);

-- Keys and secrets. Only their SHA-256 is kept: they are 256 random bits, so no slow hash is needed.
CREATE TABLE auth.credentials (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    app_id text NOT NULL REFERENCES auth.apps (id),
    kind text NOT NULL CHECK (kind IN ('client', 'secret', 'ingest', 'evaluation', 'master')),
    environment text CHECK (environment IN ('live', 'test')),
    label text NOT NULL DEFAULT '' CHECK (length(label) <= 200),
    sha256 text NOT NULL UNIQUE CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    -- The last characters, so that a person can tell one from another.
    hint text NOT NULL CHECK (length(hint) BETWEEN 1 AND 8),
    networks text[],
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz,
    revoked timestamptz,
    last_used timestamptz,
    CHECK ((environment IS NOT NULL) = (kind IN ('client', 'ingest', 'evaluation')))
);

CREATE INDEX ON auth.credentials (app_id, created);

-- Staff of the server. No self-registration: the first one comes from `martlet staff create`.
CREATE TABLE auth.staff (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_name text NOT NULL CHECK (user_name ~ '^[a-z0-9][a-z0-9._@-]{0,99}$') UNIQUE,
    -- Argon2id in PHC string format, with its salt and parameters.
    password text NOT NULL,
    must_reset boolean NOT NULL DEFAULT FALSE,
    is_administrator boolean NOT NULL DEFAULT FALSE,
    created timestamptz NOT NULL DEFAULT now()
);

-- The version of everything a gateway has to know. One row; its lock puts changes in order.
CREATE TABLE auth.key_ring (
    singleton boolean PRIMARY KEY DEFAULT TRUE CHECK (singleton),
    version bigint NOT NULL
);
INSERT INTO auth.key_ring (version) VALUES (1);

CREATE FUNCTION auth.key_ring_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    UPDATE auth.key_ring SET version = version + 1;
    PERFORM pg_catalog.pg_notify('martlet_key_ring', '');
    RETURN NULL;
END
$function$;

CREATE TRIGGER key_ring AFTER INSERT OR DELETE OR UPDATE OF name, archived ON auth.apps
    FOR EACH STATEMENT EXECUTE FUNCTION auth.key_ring_changed();
CREATE TRIGGER key_ring AFTER INSERT OR DELETE OR UPDATE OF sha256, kind, environment, networks, expires, revoked
    ON auth.credentials FOR EACH STATEMENT EXECUTE FUNCTION auth.key_ring_changed();

GRANT USAGE ON SCHEMA auth TO martlet_auth;
GRANT SELECT, INSERT, UPDATE ON auth.apps, auth.credentials, auth.staff TO martlet_auth;
GRANT SELECT ON auth.key_ring TO martlet_auth;
