-- Files of which an app's scanner decides whether they may be read.

-- `state`: NULL while the file can be read. The `blob` of a refused file names none; its bytes are deleted later.
ALTER TABLE _files
    ADD COLUMN state text CHECK (state IN ('scanning', 'refused')),
    ADD COLUMN reason text;
CREATE INDEX _files_scanning ON _files (updated) WHERE state = 'scanning';

ALTER TABLE _hooks
    DROP CONSTRAINT _hooks_event_check,
    DROP CONSTRAINT _hooks_check,
    ADD CONSTRAINT _hooks_event_check
        CHECK (event IN ('beforeSave', 'afterSave', 'beforeDelete', 'afterDelete', 'function', 'scanFile')),
    ADD CONSTRAINT _hooks_check CHECK ((collection IS NULL) = (event IN ('function', 'scanFile')));

CREATE OR REPLACE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF blob, readers, writers, state ON _files FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '')
    EXECUTE FUNCTION storage.record_change('storage', 'file', 'path', 'size content_type readers writers state reason');
