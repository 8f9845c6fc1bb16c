-- Reports are packed and unpacked several times faster by LZ4. A server that was built without it goes on as before.
DO $$ BEGIN
    ALTER TABLE analytics.crash_events ALTER COLUMN content SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;

-- What all copies of the service took of a space's quota in a minute. Worth nothing later, so that it is in no log.
CREATE UNLOGGED TABLE analytics.crash_quotas (
    space integer NOT NULL REFERENCES analytics.spaces,
    kind text NOT NULL CHECK (kind IN ('errors', 'sessions', 'attachments', 'feedback')),
    -- Since 1970.
    minute bigint NOT NULL,
    used bigint NOT NULL,
    PRIMARY KEY (space, kind)
);
GRANT SELECT, INSERT, UPDATE ON analytics.crash_quotas TO martlet_analytics;
