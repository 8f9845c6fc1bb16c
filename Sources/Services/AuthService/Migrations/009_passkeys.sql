-- What an app's passkeys are bound to (WebAuthn's relying party), and where the app may run that uses them.
CREATE TABLE auth.passkey_settings (
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    rp_id text NOT NULL CHECK (length(rp_id) BETWEEN 1 AND 253),
    rp_name text NOT NULL CHECK (length(rp_name) BETWEEN 1 AND 64),
    origins text[] NOT NULL CHECK (cardinality(origins) BETWEEN 1 AND 20),
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, environment)
);

CREATE TABLE auth.passkeys (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES auth.users (id) ON DELETE CASCADE,
    -- Those of the user: an authenticator's id is one user's within a space.
    app_id text NOT NULL,
    environment text NOT NULL,
    credential_id bytea NOT NULL CHECK (length(credential_id) BETWEEN 16 AND 1023),
    -- COSE (RFC 9053).
    public_key bytea NOT NULL CHECK (length(public_key) BETWEEN 32 AND 1024),
    -- What the authenticator counted at its last use. 0: it does not count.
    sign_count bigint NOT NULL CHECK (sign_count BETWEEN 0 AND 4294967295),
    -- Whether it is kept on several devices.
    backed_up boolean NOT NULL,
    -- AAGUID: which model of authenticator has it.
    model uuid NOT NULL,
    transports text[] NOT NULL,
    name text NOT NULL DEFAULT '' CHECK (length(name) <= 100),
    created timestamptz NOT NULL DEFAULT now(),
    last_used timestamptz,
    CONSTRAINT passkeys_credential UNIQUE (app_id, environment, credential_id)
);

CREATE INDEX passkeys_user ON auth.passkeys (user_id, created);

-- What authenticators were asked to sign, each good once. Lost in a crash, which is no harm.
CREATE UNLOGGED TABLE auth.passkey_challenges (
    sha256 bytea PRIMARY KEY CHECK (length(sha256) = 32),
    app_id text NOT NULL,
    environment text NOT NULL,
    purpose text NOT NULL CHECK (purpose IN ('registration', 'sign-in', 'sign-up')),
    -- Who adds a passkey, or who somebody will be that signs up; nobody when signing in.
    user_id uuid,
    expires timestamptz NOT NULL,
    CHECK ((user_id IS NULL) = (purpose = 'sign-in'))
);

CREATE INDEX ON auth.passkey_challenges (expires);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.passkey_settings, auth.passkeys TO martlet_auth;
GRANT SELECT, INSERT, DELETE ON auth.passkey_challenges TO martlet_auth;
-- SKIP LOCKED locks rows, which takes the right to update one of their columns.
GRANT UPDATE (expires) ON auth.passkey_challenges TO martlet_auth;
