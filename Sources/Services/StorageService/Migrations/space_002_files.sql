-- Files. Their bytes are blobs of the file back end, which nothing here points into but by name.

-- `id` is of the file, from its first upload until it is deleted: a signed link opens no other that takes the path later.
CREATE TABLE _files (
    path text COLLATE "C" PRIMARY KEY,
    id text NOT NULL,
    blob text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    content_type text NOT NULL,
    owner text,
    readers text[],
    writers text[],
    created timestamptz(3) NOT NULL DEFAULT now(),
    updated timestamptz(3) NOT NULL DEFAULT now(),
    version bigint NOT NULL DEFAULT 1);
CREATE INDEX _files_blob ON _files (blob);

-- `source`: the blob of the picture. `name`: the declared size with its sides, so that a size declared anew is made anew.
-- `refusal`: why there is none, and never will be.
CREATE TABLE _thumbnails (
    source text NOT NULL,
    name text NOT NULL,
    blob text,
    size bigint,
    sha256 text,
    content_type text,
    refusal text,
    PRIMARY KEY (source, name));
CREATE INDEX _thumbnails_blob ON _thumbnails (blob);

-- What was uploaded when, by whom. Kept when the file is gone.
CREATE TABLE _uploads (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz(3) NOT NULL DEFAULT now(),
    path text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    content_type text NOT NULL,
    uploader text,
    credential text NOT NULL,
    readers text[]);
CREATE INDEX _uploads_path ON _uploads (path, id);

-- Resumable uploads. Finished ones stay until they expire, for a client that lost the last answer.
CREATE TABLE _transfers (
    id text PRIMARY KEY,
    path text NOT NULL,
    size bigint NOT NULL,
    content_type text,
    sets_readers boolean NOT NULL,
    sets_writers boolean NOT NULL,
    readers text[],
    writers text[],
    uploader text,
    created timestamptz(3) NOT NULL DEFAULT now(),
    expires timestamptz(3) NOT NULL,
    is_finished boolean NOT NULL DEFAULT FALSE);
CREATE INDEX _transfers_expires ON _transfers (expires);

-- What has arrived: each request's bytes are a blob.
CREATE TABLE _transfer_parts (
    transfer text NOT NULL REFERENCES _transfers ON DELETE CASCADE,
    start bigint NOT NULL,
    size bigint NOT NULL,
    blob text NOT NULL,
    PRIMARY KEY (transfer, start));
CREATE INDEX _transfer_parts_blob ON _transfer_parts (blob);
