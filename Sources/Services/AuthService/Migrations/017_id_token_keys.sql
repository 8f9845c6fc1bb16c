-- RSA keys that sign ID tokens by RS256. A table of their own: access tokens are signed and checked with the keys of auth.signing_keys alone.
CREATE TABLE auth.id_token_keys (
    id text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9_-]{1,64}$'),
    -- SubjectPublicKeyInfo (RFC 8017 §A.1), DER.
    public_key bytea NOT NULL,
    sealed_private_key bytea NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    -- Published before, so that whoever keeps a copy of the keys has it in time.
    signs_from timestamptz NOT NULL,
    -- No longer published from then on.
    expires timestamptz
);

-- So that every copy of the service publishes what one of them has made.
CREATE TRIGGER key_ring AFTER INSERT OR UPDATE OR DELETE ON auth.id_token_keys
    FOR EACH STATEMENT EXECUTE FUNCTION auth.key_ring_changed();

-- How a client's ID tokens are signed. Clients that were here before go on with what they know; new ones are made with RS256, unless they say otherwise.
ALTER TABLE auth.clients
    ADD COLUMN id_token_algorithm text NOT NULL DEFAULT 'ES256' CHECK (id_token_algorithm IN ('ES256', 'RS256'));

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.id_token_keys TO martlet_auth;
