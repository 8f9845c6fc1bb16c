-- A space is an app's environment.
CREATE TABLE notifications.spaces (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id text NOT NULL CHECK (length(app_id) BETWEEN 1 AND 32),
    environment text NOT NULL CHECK (environment IN ('live', 'test')),
    created timestamptz NOT NULL DEFAULT now(),
    UNIQUE (app_id, environment)
);

-- What push services and mail servers know the app by. The secret half is sealed and never shown.
CREATE TABLE notifications.credentials (
    space integer NOT NULL REFERENCES notifications.spaces,
    kind text NOT NULL CHECK (kind IN ('apns', 'fcm', 'webpush', 'smtp')),
    -- Key id, team id and bundle ids; project and account; subject and public key; host, user and sender.
    shown jsonb NOT NULL,
    sealed bytea NOT NULL,
    author text NOT NULL,
    updated timestamptz NOT NULL DEFAULT now(),
    -- When a push service said that it is no good, and its word.
    broken timestamptz,
    broken_reason text,
    PRIMARY KEY (space, kind)
);

-- An app on a device.
CREATE TABLE notifications.installations (
    space integer NOT NULL REFERENCES notifications.spaces,
    -- The app's own choice.
    id uuid NOT NULL,
    -- SHA-256 of the text that only this installation has: who shows it may read and change it.
    secret_digest bytea NOT NULL,
    platform text NOT NULL CHECK (platform IN ('ios', 'macos', 'watchos', 'tvos', 'visionos', 'android', 'web')),
    -- By which push service, and in which of APNs' two worlds.
    service text NOT NULL CHECK (service IN ('apns', 'fcm', 'webpush')),
    is_sandbox boolean NOT NULL DEFAULT FALSE,
    -- Hexadecimal for APNs; FCM's; a subscription's endpoint. NULL: none yet, or the push service said it has gone.
    token text CHECK (octet_length(token) BETWEEN 1 AND 4096),
    -- Web Push: the subscription's p256dh and auth, in base64url.
    public_key text,
    auth_secret text,
    bundle_id text,
    token_registered timestamptz,
    user_id text,
    app_version text,
    os_version text,
    device_model text,
    -- BCP 47; IANA.
    locale text,
    time_zone text,
    badge integer NOT NULL DEFAULT 0 CHECK (badge >= 0),
    channels text[] NOT NULL DEFAULT '{}',
    attributes jsonb NOT NULL DEFAULT '{}',
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now(),
    -- When the app last said anything.
    seen timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, id)
);
-- One device, one installation: a token that comes with another one moves to it.
CREATE UNIQUE INDEX installations_token ON notifications.installations (space, service, md5(token)) WHERE token IS NOT NULL;
CREATE INDEX installations_user ON notifications.installations (space, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX installations_channels ON notifications.installations USING gin (channels);

GRANT SELECT, INSERT, UPDATE, DELETE ON notifications.spaces, notifications.credentials, notifications.installations TO martlet_notifications;
