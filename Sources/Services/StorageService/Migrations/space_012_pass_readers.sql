-- The rights of a file are those of its history, which outlives it.
CREATE TRIGGER pass_readers AFTER UPDATE OF readers ON _files
    FOR EACH ROW WHEN (old.readers IS DISTINCT FROM new.readers) EXECUTE FUNCTION storage.pass_readers();
CREATE TRIGGER pass_last_readers AFTER DELETE ON _files
    FOR EACH ROW EXECUTE FUNCTION storage.pass_readers();
