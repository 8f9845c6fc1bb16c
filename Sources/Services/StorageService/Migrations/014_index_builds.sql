-- Indexes that a job builds beside the writes of their collection, and those whose job did not come to its end, as long as that is kept.
-- What is ready is known by the comment on the index itself.
CREATE TABLE storage.index_builds (
    schema text NOT NULL,
    collection text NOT NULL,
    name text NOT NULL,
    definition jsonb NOT NULL,
    -- The index's name in PostgreSQL.
    relation text NOT NULL,
    job uuid NOT NULL REFERENCES storage.jobs ON DELETE CASCADE,
    PRIMARY KEY (schema, collection, name));
CREATE INDEX index_builds_job ON storage.index_builds (job);

GRANT SELECT, INSERT, UPDATE, DELETE ON storage.index_builds TO martlet_storage;
