-- What `deploy/bench rules` measures on: OBJECTS messages of OBJECTS / 10 events, each with 10 of as many users.
-- Run as the role that owns the app's tables, which the public calls have created. The data are the same on every run.
\set ON_ERROR_STOP on
SET ROLE :"schema";
SET search_path = :"schema";
SET synchronous_commit = off;
SET jit = off;

-- Event n has the participants n … n + 9, so user n participates in the events n - 9 … n.
INSERT INTO "Events" (id, doc)
SELECT 'e' || n, jsonb_build_object(
    'creator', 'u' || n, 'state', 'open', 'title', substr(md5(n::text), 1, 12),
    'participants', (SELECT jsonb_agg('u' || (n + i) % (:objects / 10)) FROM generate_series(0, 9) AS i))
FROM generate_series(0, :objects / 10 - 1) AS n;

-- Message n belongs to event n % events and is written by the event's creator; the messages of an event are spread over time.
INSERT INTO "Messages" (id, created, updated, doc)
SELECT 'm' || n, at, at, jsonb_build_object(
    'event', jsonb_build_object('__type', 'Pointer', 'className', 'Events', 'objectId', 'e' || n % (:objects / 10)),
    'author', 'u' || n % (:objects / 10), 'text', md5(n::text), 'likes', 0)
FROM (SELECT n, now() - make_interval(secs => :objects - n) AS at FROM generate_series(0, :objects - 1) AS n) AS numbers;
