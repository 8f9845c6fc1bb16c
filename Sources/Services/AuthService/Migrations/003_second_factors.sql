-- Authenticator apps: time-based one-time passwords (RFC 6238). The secret is sealed with a key that only the processes have.
CREATE TABLE auth.second_factors (
    user_id uuid PRIMARY KEY REFERENCES auth.users (id) ON DELETE CASCADE,
    sealed_secret bytea NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    -- NULL: the user has not shown a first code yet, and signs in without.
    confirmed timestamptz,
    -- The newest time step of which a code was taken: none counts twice.
    last_step bigint NOT NULL DEFAULT 0
);

-- For when the authenticator is lost: each good once. HMAC-SHA-256 under a key that only the processes have.
CREATE TABLE auth.recovery_codes (
    user_id uuid NOT NULL REFERENCES auth.second_factors (user_id) ON DELETE CASCADE,
    mac bytea NOT NULL CHECK (length(mac) = 32),
    PRIMARY KEY (user_id, mac)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.second_factors, auth.recovery_codes TO martlet_auth;
