-- The JSON Schema of a collection as it was set, and a number that no other schema has.
ALTER TABLE _collections ADD COLUMN schema text, ADD COLUMN schema_revision bigint;
