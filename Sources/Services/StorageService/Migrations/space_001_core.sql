-- The tables that every app's schema has, beside one per collection.
-- Run once per space by `Spaces`, under the app's own role, with search_path at its schema. Never edited once released.

-- What an app says of its collections. `fields`: the name of every top-level field ever written → its types.
CREATE TABLE _collections (
    name text PRIMARY KEY,
    rules jsonb NOT NULL DEFAULT '{}',
    fields jsonb NOT NULL DEFAULT '{}',
    created timestamptz(3) NOT NULL DEFAULT now());

INSERT INTO _collections (name)
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r' AND c.relname !~ '^_';

CREATE TABLE _roles (
    name text PRIMARY KEY,
    created timestamptz(3) NOT NULL DEFAULT now());

-- `member`: a user's id, or `role:<name>` of a role whose members have this role too.
CREATE TABLE _role_members (
    role text NOT NULL REFERENCES _roles ON DELETE CASCADE,
    member text NOT NULL,
    PRIMARY KEY (role, member));
CREATE INDEX _role_members_member ON _role_members (member);

-- The members of relation fields: many to many between objects.
CREATE TABLE _relations (
    collection text NOT NULL,
    owner text NOT NULL,
    key text NOT NULL,
    related_collection text NOT NULL,
    related text NOT NULL,
    PRIMARY KEY (collection, owner, key, related_collection, related));
CREATE INDEX _relations_related ON _relations (related_collection, related);

-- The change log: one row for each write of an object, made by the statement that writes it. `kind`: c(reated), u(pdated),
-- d(eleted or removed). `doc` and what goes with it is the state after, NULL for d; `before_…` the state before, NULL for c.
-- Readers remember a pg_snapshot and ask for what it did not see, so that a late commit is neither lost nor doubled.
CREATE TABLE _changes (
    seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    txid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at timestamptz(3) NOT NULL DEFAULT now(),
    collection text NOT NULL,
    id text NOT NULL,
    kind "char" NOT NULL,
    created timestamptz(3) NOT NULL,
    updated timestamptz(3) NOT NULL,
    version bigint NOT NULL,
    readers text[],
    doc jsonb,
    before_updated timestamptz(3),
    before_version bigint,
    before_readers text[],
    before_doc jsonb);
CREATE INDEX _changes_position ON _changes (collection, txid, seq);

-- What was answered to a request with an Idempotency-Key, for its repetition.
CREATE TABLE _idempotency (
    asker text NOT NULL,
    key text NOT NULL,
    request bytea NOT NULL,
    status integer,
    etag text,
    body bytea,
    created timestamptz(3) NOT NULL DEFAULT now(),
    PRIMARY KEY (asker, key));
CREATE INDEX _idempotency_created ON _idempotency (created);
