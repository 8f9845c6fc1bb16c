-- The public profiles of the app's users as a collection, which only auth writes (`StoreUserDocuments`). A table like that of any collection,
-- except that `version` is auth's and that rules alone see `email_verified`.
CREATE TABLE "_User" (
    id text NOT NULL CONSTRAINT _user_key PRIMARY KEY,
    created timestamptz(3) NOT NULL DEFAULT now(),
    updated timestamptz(3) NOT NULL DEFAULT now(),
    deleted timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    readers text[],
    writers text[],
    doc jsonb NOT NULL CHECK (jsonb_typeof(doc) = 'object'),
    email_verified boolean NOT NULL DEFAULT FALSE);
CREATE INDEX _user_search ON "_User" USING gin (doc jsonb_path_ops) WITH (fastupdate = off);
CREATE INDEX _user_newest ON "_User" (created DESC, id);
CREATE INDEX _user_listed ON "_User" USING gin (readers, writers) WITH (fastupdate = off) WHERE readers IS NOT NULL OR writers IS NOT NULL;
CREATE INDEX _user_deleted ON "_User" (deleted) WHERE deleted IS NOT NULL;

INSERT INTO _collections (name, rules) VALUES ('_User', '{"rules":{"addField":[],"count":["authenticated"],"create":[],"delete":[],"find":["authenticated"],"get":["authenticated"],"update":[]}}');
