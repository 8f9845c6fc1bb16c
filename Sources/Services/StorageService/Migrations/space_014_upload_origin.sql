-- Of a resumable upload that nobody in particular began: a digest of the caller's address, by which unfinished ones are counted.
ALTER TABLE _transfers ADD COLUMN origin text;
DROP INDEX _transfers_open;
CREATE INDEX _transfers_open ON _transfers (uploader, origin) WHERE NOT is_finished;
