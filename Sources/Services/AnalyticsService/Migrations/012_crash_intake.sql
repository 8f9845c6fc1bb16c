-- Reports are packed and unpacked several times faster by LZ4. A server that was built without it goes on as before.
DO $$ BEGIN
    ALTER TABLE analytics.crash_events ALTER COLUMN content SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
