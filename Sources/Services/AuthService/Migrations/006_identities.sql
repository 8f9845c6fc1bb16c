-- Where users of an app sign in from elsewhere, as its own server has set it up.
CREATE TABLE auth.identity_providers (
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    name text NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
    -- What may be shown: kind, client ids, addresses.
    configuration jsonb NOT NULL CHECK (jsonb_typeof(configuration) = 'object'),
    -- The client secret, or Apple's private key; sealed with a key that only the processes have.
    sealed_secret bytea,
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, environment, name)
);

-- Who users are elsewhere. The issuer is part of the key, so that a provider that is set up anew under an old name opens no account of the old one.
CREATE TABLE auth.identities (
    app_id text NOT NULL,
    environment text NOT NULL,
    issuer text NOT NULL CHECK (length(issuer) BETWEEN 1 AND 500),
    subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
    provider text NOT NULL,
    user_id uuid NOT NULL REFERENCES auth.users (id) ON DELETE CASCADE,
    -- As the provider said it last.
    email text CHECK (length(email) <= 254),
    -- What Apple wants revoked when the account goes; sealed.
    sealed_token bytea,
    created timestamptz NOT NULL DEFAULT now(),
    last_used timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT identities_pkey PRIMARY KEY (app_id, environment, issuer, subject),
    CONSTRAINT identities_user UNIQUE (user_id, provider)
);

-- People on their way to a provider. Of the state, its SHA-256; what else is secret is derived from the state.
CREATE TABLE auth.oauth_flows (
    state_hash bytea PRIMARY KEY CHECK (length(state_hash) = 32),
    app_id text NOT NULL,
    environment text NOT NULL,
    provider text NOT NULL,
    redirect_url text NOT NULL,
    -- The app's, S256 (RFC 7636).
    code_challenge text NOT NULL,
    expires timestamptz NOT NULL
);
CREATE INDEX ON auth.oauth_flows (expires);

-- People who came back, until their app shows that it was the one that sent them. Of the code, its SHA-256.
CREATE TABLE auth.oauth_codes (
    code_hash bytea PRIMARY KEY CHECK (length(code_hash) = 32),
    app_id text NOT NULL,
    environment text NOT NULL,
    code_challenge text NOT NULL,
    -- Who they are, sealed.
    sealed_identity bytea NOT NULL,
    expires timestamptz NOT NULL
);
CREATE INDEX ON auth.oauth_codes (expires);

-- ID tokens that signed somebody in, by SHA-256: each counts once.
CREATE TABLE auth.used_id_tokens (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    expires timestamptz NOT NULL
);
CREATE INDEX ON auth.used_id_tokens (expires);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.identity_providers, auth.identities TO martlet_auth;
GRANT SELECT, INSERT, DELETE ON auth.oauth_flows, auth.oauth_codes, auth.used_id_tokens TO martlet_auth;
