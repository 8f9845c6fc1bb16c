-- What app definitions are signed with: Ed25519 keys of apps. A key stays: clients may have it built in.
CREATE TABLE config.definition_keys (
    -- The thumbprint of the public key (RFC 7638).
    id text PRIMARY KEY CHECK (length(id) = 43),
    app_id text NOT NULL CHECK (length(app_id) BETWEEN 1 AND 32),
    public_key bytea NOT NULL CHECK (length(public_key) = 32),
    -- Sealed under a key that is made of the internal secret.
    sealed_private_key bytea NOT NULL,
    created timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX definition_keys_app ON config.definition_keys (app_id, created);

GRANT SELECT, INSERT ON config.definition_keys TO martlet_config;
