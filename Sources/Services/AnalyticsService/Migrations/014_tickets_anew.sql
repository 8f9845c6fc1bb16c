-- The same character however it was typed, and Chinese characters and kana, between whose words nothing stands, one by one.
CREATE FUNCTION analytics.ticket_text(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    normalize($1, NFKC), '([\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])',
    ' \1 ', 'g');

CREATE OR REPLACE FUNCTION analytics.ticket_words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_tsvector('pg_catalog.simple'::regconfig, regexp_replace(analytics.ticket_text($1), '[^[:alnum:]]+', ' ', 'g'));

-- What was written without a blank has to stand side by side.
CREATE OR REPLACE FUNCTION analytics.ticket_query(text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT to_tsquery('pg_catalog.simple'::regconfig, string_agg(
        '(' || regexp_replace(btrim(analytics.ticket_text(word)), ' +', ' <-> ', 'g') || ':*)', ' & '))
    FROM regexp_split_to_table(normalize($1, NFKC), '[^[:alnum:]]+') AS word WHERE word <> '');

-- What is there already, once more.
UPDATE analytics.tickets SET title = title;
UPDATE analytics.ticket_comments SET text = text;
UPDATE analytics.ticket_feedback SET message = message;

-- For the report that comes after what was said of it.
CREATE INDEX ticket_feedback_event ON analytics.ticket_feedback (space, event_id) WHERE event_id IS NOT NULL;

-- How much work it is, in whatever a team counts.
ALTER TABLE analytics.tickets ADD COLUMN estimate smallint CHECK (estimate BETWEEN 0 AND 1000);
-- For the tickets that were once in a sprint.
CREATE INDEX ticket_history_sprint ON analytics.ticket_history (ticket) WHERE field = 'sprint';
