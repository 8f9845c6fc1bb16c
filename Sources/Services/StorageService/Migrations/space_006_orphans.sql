-- For the collection of what nobody refers to, the history of files, and who began a resumable upload.

-- Blobs that nothing refers to, and since when that has been known.
CREATE TABLE _orphans (
    blob text PRIMARY KEY,
    since timestamptz(3) NOT NULL DEFAULT now());
CREATE INDEX _orphans_since ON _orphans (since);

-- `file`: the id of the file that was uploaded. Its uploads have the readers that it has, or had last.
ALTER TABLE _uploads ADD COLUMN file text;
UPDATE _uploads AS u SET file = f.id, readers = f.readers FROM _files AS f WHERE f.path = u.path AND u.at >= f.created;

-- `is_master`: begun by the app's own server, for nobody in particular.
ALTER TABLE _transfers ADD COLUMN is_master boolean NOT NULL DEFAULT FALSE;
CREATE INDEX _transfers_open ON _transfers (uploader) WHERE NOT is_finished;
