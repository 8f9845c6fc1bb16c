-- What an app is known by, beside its name.
ALTER TABLE auth.apps
    ADD COLUMN bundle_ids text[] NOT NULL DEFAULT '{}' CHECK (cardinality(bundle_ids) <= 20),
    ADD COLUMN store_id text CHECK (store_id ~ '^[0-9]{1,20}$'),
    -- Free, for whoever manages apps.
    ADD COLUMN settings jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN updated timestamptz NOT NULL DEFAULT now(),
    ADD CONSTRAINT apps_settings_size CHECK (jsonb_typeof(settings) = 'object' AND octet_length(settings::text) <= 65536);

CREATE TABLE auth.app_icons (
    app_id text PRIMARY KEY REFERENCES auth.apps (id),
    content_type text NOT NULL CHECK (content_type IN ('image/png', 'image/jpeg', 'image/webp')),
    sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    bytes bytea NOT NULL CHECK (length(bytes) BETWEEN 1 AND 1048576)
);

CREATE TABLE auth.app_versions (
    id uuid PRIMARY KEY,
    app_id text NOT NULL REFERENCES auth.apps (id),
    number text NOT NULL CHECK (length(number) BETWEEN 1 AND 64),
    -- Sorts as versions do, and is the same for two spellings of one: 1.0 and 1.0.0.
    sort_key text COLLATE "C" NOT NULL CHECK (length(sort_key) <= 600),
    build text NOT NULL DEFAULT '' CHECK (length(build) <= 64),
    state text NOT NULL CHECK (state IN ('planned', 'released')),
    release_date date,
    -- Language (BCP 47) → text.
    notes jsonb NOT NULL DEFAULT '{}',
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT app_versions_number UNIQUE (app_id, sort_key),
    CHECK (jsonb_typeof(notes) = 'object' AND octet_length(notes::text) <= 131072)
);

CREATE TABLE auth.version_pictures (
    id uuid PRIMARY KEY,
    version_id uuid NOT NULL REFERENCES auth.app_versions (id) ON DELETE CASCADE,
    position integer NOT NULL CHECK (position >= 0),
    content_type text NOT NULL CHECK (content_type IN ('image/png', 'image/jpeg', 'image/webp')),
    sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    bytes bytea NOT NULL CHECK (length(bytes) BETWEEN 1 AND 4194304)
);
CREATE INDEX version_pictures_version ON auth.version_pictures (version_id, position);

-- Pictures are compressed already.
ALTER TABLE auth.app_icons ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE auth.version_pictures ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- What a master key or a secret is limited to, such as storage:read; NULL: nothing.
ALTER TABLE auth.credentials ADD COLUMN scopes text[]
    CHECK (scopes IS NULL OR (kind IN ('secret', 'master') AND cardinality(scopes) BETWEEN 1 AND 32));

DROP TRIGGER key_ring ON auth.credentials;
CREATE TRIGGER key_ring AFTER INSERT OR DELETE OR UPDATE OF sha256, kind, environment, networks, expires, revoked, scopes
    ON auth.credentials FOR EACH STATEMENT EXECUTE FUNCTION auth.key_ring_changed();

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.app_icons, auth.app_versions, auth.version_pictures TO martlet_auth;
