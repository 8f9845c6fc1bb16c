-- Files that whoever may read a field of an object may read.

-- The field; NULL: bound to none. `object_created`: when the object was created, because an id may be used again.
ALTER TABLE _files
    ADD COLUMN IF NOT EXISTS object_collection text,
    ADD COLUMN IF NOT EXISTS object_id text,
    ADD COLUMN IF NOT EXISTS object_key text,
    ADD COLUMN IF NOT EXISTS object_created timestamptz(3);

CREATE OR REPLACE TRIGGER audit
    AFTER INSERT OR DELETE OR UPDATE OF blob, readers, writers, state, object_id, object_key, object_created ON _files FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '')
    EXECUTE FUNCTION storage.record_change(
        'storage', 'file', 'path', 'size content_type readers writers state reason object_collection object_id object_key');
