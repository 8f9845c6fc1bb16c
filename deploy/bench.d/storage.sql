-- What `deploy/bench storage` measures on: OBJECTS posts with access lists, 1,000 teams with 120 of them each.
-- Run as the role that owns the app's tables, which the public calls have created. The data are the same on every run.
\set ON_ERROR_STOP on
SET ROLE :"schema";
SET search_path = :"schema";
SET synchronous_commit = off;
SET maintenance_work_mem = '512MB';
SET jit = off;
SELECT setseed(0.5) \g /dev/null

-- The collection's built-in indexes are dropped while it is filled, and created again afterwards.
SELECT string_agg(format('DROP INDEX %I', i.indexname), '; ') AS dropping, string_agg(i.indexdef, '; ') AS making FROM pg_indexes AS i
WHERE schemaname = :'schema' AND tablename = 'Post' AND NOT EXISTS (
    SELECT FROM pg_constraint AS c WHERE c.conname = i.indexname AND c.connamespace = to_regnamespace(quote_ident(:'schema')))
\gset
:dropping;

-- Half of the posts are everyone's; a quarter are one of 10,000 users', a quarter one of 100 roles'.
INSERT INTO "Post" (id, created, updated, readers, doc)
SELECT 'p' || lpad(n::text, 9, '0'), at, at,
    CASE WHEN reader < 0.5 THEN NULL WHEN reader < 0.75 THEN ARRAY['u' || floor(reader * 40000)::int % 10000]
        ELSE ARRAY['role:r' || floor(reader * 400)::int % 100] END,
    jsonb_build_object(
        'name', substr(md5(n::text), 1, 12),
        'author', jsonb_build_object('__type', 'Pointer', 'className', 'Member', 'objectId', 'u' || floor(author * 10000)::int),
        'tags', jsonb_build_array('t' || floor(tag1 * 10000)::int, 't' || floor(tag2 * 10000)::int, 'kind' || n % 20),
        'place', jsonb_build_object('__type', 'GeoPoint',
            'latitude', round((43 + latitude * 7)::numeric, 6), 'longitude', round((-2 + longitude * 9)::numeric, 6)),
        'done', n % 3 = 0, 'stars', n % 1000,
        'text', (SELECT string_agg('w' || floor(2000 * random() ^ 2)::int, ' ') FROM generate_series(1, 12) WHERE n > 0))
FROM (
    SELECT n, now() - make_interval(secs => :objects - n) AS at, random() AS reader, random() AS author, random() AS tag1,
        random() AS tag2, random() AS latitude, random() AS longitude
    FROM generate_series(1, :objects) AS n) AS numbers;

:making;

INSERT INTO "Team" (id, doc) SELECT 'team' || n, jsonb_build_object('number', n) FROM generate_series(1, 1000) AS n;
INSERT INTO _relations (collection, owner, key, related_collection, related)
SELECT 'Team', 'team' || team, 'posts', 'Post', 'p' || lpad((1 + floor(random() * :objects))::int::text, 9, '0')
FROM generate_series(1, 1000) AS team, generate_series(1, 120)
ON CONFLICT DO NOTHING;

-- The user who sends the queries has two roles, one of them through the other.
INSERT INTO _roles (name) VALUES ('r1'), ('r2');
INSERT INTO _role_members (role, member) VALUES ('r1', 'u77'), ('r2', 'role:r1');
ANALYZE "Post", "Team", _relations;
