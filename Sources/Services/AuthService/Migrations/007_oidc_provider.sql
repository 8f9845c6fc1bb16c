-- Other applications that let the users of an app sign in: OAuth 2.0 clients (RFC 6749 §2).
CREATE TABLE auth.clients (
    id uuid PRIMARY KEY,
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    redirect_uris text[] NOT NULL CHECK (cardinality(redirect_uris) BETWEEN 1 AND 20),
    scopes text[] NOT NULL CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['openid', 'profile', 'email', 'offline_access']),
    -- Of 256 random bits, so no slow hash is needed. NULL: a public client, which can keep no secret.
    secret_sha256 text CHECK (secret_sha256 ~ '^[0-9a-f]{64}$'),
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX clients_app ON auth.clients (app_id, environment, id);

-- What a user has allowed a client.
CREATE TABLE auth.client_grants (
    user_id uuid NOT NULL REFERENCES auth.users (id) ON DELETE CASCADE,
    client_id uuid NOT NULL REFERENCES auth.clients (id) ON DELETE CASCADE,
    scopes text[] NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, client_id)
);

CREATE INDEX client_grants_client ON auth.client_grants (client_id);

-- Authorization codes (RFC 6749 §4.1.2), by SHA-256 of 256 random bits. Kept for a while after use: a second one is noticed.
CREATE TABLE auth.authorization_codes (
    sha256 bytea PRIMARY KEY CHECK (length(sha256) = 32),
    client_id uuid NOT NULL REFERENCES auth.clients (id) ON DELETE CASCADE,
    -- The browser's session in which the user allowed it.
    browser_session_id uuid NOT NULL REFERENCES auth.sessions (id) ON DELETE CASCADE,
    redirect_uri text NOT NULL,
    -- Of PKCE (RFC 7636 §4.2), by S256.
    challenge text NOT NULL CHECK (length(challenge) = 43),
    scopes text[] NOT NULL,
    nonce text,
    expires timestamptz NOT NULL,
    -- The session that it was exchanged for; NULL: not yet.
    session_id uuid
);

CREATE INDEX authorization_codes_client ON auth.authorization_codes (client_id);
CREATE INDEX authorization_codes_browser ON auth.authorization_codes (browser_session_id);
CREATE INDEX authorization_codes_expires ON auth.authorization_codes (expires);

-- Sessions of users in clients, beside those on devices: the tokens of one authorization.
CREATE TABLE auth.client_sessions (
    session_id uuid PRIMARY KEY REFERENCES auth.sessions (id) ON DELETE CASCADE,
    client_id uuid NOT NULL REFERENCES auth.clients (id) ON DELETE CASCADE,
    -- The browser's session, with which this one ends; NULL: it goes on without (offline_access).
    browser_session_id uuid REFERENCES auth.sessions (id) ON DELETE CASCADE,
    scopes text[] NOT NULL,
    -- When the user had signed in.
    authenticated timestamptz NOT NULL
);

CREATE INDEX client_sessions_client ON auth.client_sessions (client_id);
CREATE INDEX client_sessions_browser ON auth.client_sessions (browser_session_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.clients, auth.client_grants, auth.authorization_codes, auth.client_sessions TO martlet_auth;
