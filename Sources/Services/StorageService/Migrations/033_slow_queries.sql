-- Slow lists and summaries by the shape of the query, without any values, counted by all copies of the service.
-- Unlogged: a crash of PostgreSQL may empty it.
CREATE UNLOGGED TABLE storage.slow_queries (
    schema text NOT NULL,
    day date NOT NULL,
    collection text NOT NULL,
    -- Of the shape, which may be too long for an index.
    digest text NOT NULL,
    shape text NOT NULL,
    count bigint NOT NULL,
    total_milliseconds bigint NOT NULL,
    slowest_milliseconds bigint NOT NULL,
    PRIMARY KEY (schema, day, collection, digest));
GRANT SELECT, INSERT, UPDATE, DELETE ON storage.slow_queries TO martlet_storage;
