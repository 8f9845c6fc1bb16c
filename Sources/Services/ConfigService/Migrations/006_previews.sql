-- Links that show a draft, until they run out or are revoked.
CREATE TABLE config.previews (
    id uuid PRIMARY KEY,
    document_id uuid NOT NULL REFERENCES config.documents (id),
    author text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz NOT NULL
);
CREATE INDEX previews_document ON config.previews (document_id, created);

GRANT SELECT, INSERT, DELETE ON config.previews TO martlet_config;
