-- What the objects of each environment of an app may use. NULL: no limit.
CREATE TABLE storage.object_limits (
    app text PRIMARY KEY,
    maximum_objects bigint CHECK (maximum_objects >= 0),
    maximum_bytes bigint CHECK (maximum_bytes >= 0));
GRANT SELECT, INSERT, UPDATE, DELETE ON storage.object_limits TO martlet_storage;
SELECT auth.audit('storage.object_limits', 'applications', 'object-limits', 'app', 'maximum_objects maximum_bytes');
