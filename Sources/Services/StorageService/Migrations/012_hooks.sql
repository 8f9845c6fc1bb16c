-- The spaces that have hooks which are told of changes: where a copy of the service has to look.
CREATE TABLE storage.hook_spaces (schema text PRIMARY KEY);
GRANT SELECT, INSERT, DELETE ON storage.hook_spaces TO martlet_storage;
