-- How users of an app may sign up, and what is mailed to them. The service knows which settings there are, and what those mean that are missing.
CREATE TABLE auth.settings (
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    settings jsonb NOT NULL CHECK (jsonb_typeof(settings) = 'object' AND octet_length(settings::text) <= 65536),
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, environment)
);

-- Whom an app's mail is from. A mail server of the app's own, password and all, is sealed with a key that only the processes have.
CREATE TABLE auth.mail_senders (
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    name text NOT NULL CHECK (length(name) <= 100),
    address text NOT NULL CHECK (length(address) BETWEEN 3 AND 254),
    sealed_server bytea,
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, environment)
);

CREATE TABLE auth.mail_templates (
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    kind text NOT NULL,
    -- A language tag (BCP 47) in small letters.
    language text NOT NULL CHECK (language ~ '^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$'),
    subject text NOT NULL,
    body_text text NOT NULL,
    body_html text,
    updated timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, environment, kind, language)
);

-- What was mailed to prove that somebody reads an address: a token of 256 random bits (SHA-256 of it), and a short code for typing
-- (HMAC-SHA-256 under a key that only the processes have, or eight digits would be guessed from it). A new one takes the place of the old.
CREATE TABLE auth.mail_proofs (
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    purpose text NOT NULL,
    -- What the code goes with: the address, or of a change of address the user's id.
    subject text NOT NULL,
    email text NOT NULL,
    -- NULL: nobody yet; signing in makes the account.
    user_id uuid REFERENCES auth.users (id) ON DELETE CASCADE,
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    code_mac bytea NOT NULL CHECK (length(code_mac) = 32),
    -- How often a code was tried.
    tries integer NOT NULL DEFAULT 0,
    expires timestamptz NOT NULL,
    PRIMARY KEY (app_id, environment, purpose, subject)
);
CREATE INDEX mail_proofs_user ON auth.mail_proofs (user_id);
CREATE INDEX mail_proofs_expires ON auth.mail_proofs (expires);

-- Who may sign up where one needs an invitation. Only the SHA-256 of its code is kept, a mailed one's from when the mail is written.
CREATE TABLE auth.invitations (
    id uuid PRIMARY KEY,
    app_id text NOT NULL REFERENCES auth.apps (id),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    -- The address that it is for; NULL: for whoever has the code.
    email text CHECK (length(email) BETWEEN 3 AND 254 AND email = lower(email)),
    code_hash bytea UNIQUE CHECK (length(code_hash) = 32),
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz NOT NULL,
    used timestamptz
);
CREATE INDEX invitations_app ON auth.invitations (app_id, environment, id);

-- How much was mailed in an hour, by SHA-256 of whatever is counted. Lost in a crash, which is no harm.
CREATE UNLOGGED TABLE auth.mail_counts (
    key bytea NOT NULL CHECK (length(key) = 32),
    hour timestamptz NOT NULL,
    count integer NOT NULL,
    PRIMARY KEY (key, hour)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.settings, auth.mail_senders, auth.mail_templates, auth.mail_proofs, auth.invitations,
    auth.mail_counts TO martlet_auth;
