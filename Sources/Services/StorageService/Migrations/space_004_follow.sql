-- For what follows the change log.

-- A client that follows sees the whole object, so the log has its list of writers too.
ALTER TABLE _changes ADD COLUMN writers text[];

-- Whoever has not seen this transaction has missed changes of the collection that are no longer in the log: too old, or the
-- collection was dropped or renamed.
CREATE TABLE _changes_floor (
    collection text PRIMARY KEY,
    txid xid8 NOT NULL);
