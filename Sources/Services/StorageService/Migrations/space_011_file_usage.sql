-- How much the files of the space are, in one row; and how much they may be, where that is not the server's default.
CREATE TABLE _file_usage (
    only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    files bigint NOT NULL,
    bytes bigint NOT NULL,
    maximum_files bigint,
    maximum_bytes bigint);

CREATE TRIGGER count_inserted AFTER INSERT ON _files REFERENCING NEW TABLE AS after_files
    FOR EACH STATEMENT EXECUTE FUNCTION storage.count_files();
CREATE TRIGGER count_updated AFTER UPDATE ON _files REFERENCING OLD TABLE AS before_files NEW TABLE AS after_files
    FOR EACH STATEMENT EXECUTE FUNCTION storage.count_files();
CREATE TRIGGER count_deleted AFTER DELETE ON _files REFERENCING OLD TABLE AS before_files
    FOR EACH STATEMENT EXECUTE FUNCTION storage.count_files();
CREATE TRIGGER count_truncated AFTER TRUNCATE ON _files
    FOR EACH STATEMENT EXECUTE FUNCTION storage.count_files();

-- After the triggers, which wait for whoever is writing a file.
INSERT INTO _file_usage (files, bytes) SELECT count(*), coalesce(sum(size), 0) FROM _files;
