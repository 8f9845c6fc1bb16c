-- Every table of the services, as JSON: what of it belongs to an app, and what becomes of that in the app's archive (`app`).
-- A row: {name, policy, level, condition, columns, sequence}. `condition` selects an app's rows; @app, @environment and @schema
-- stand for its id, the environment and the environment's schema. Children have a higher level than their parents. `columns` are
-- quoted. A table for which no condition is found has no policy and must be listed here; otherwise `app` refuses to work.
--
--   replace  archived; a restore deletes what is there
--   merge    archived; a restore adds missing rows and leaves existing ones: state that must be neither undone nor forgotten
--   same     as merge, but existing rows must be equal: numbers that other rows refer to
--   app      archived; belongs to both environments; restored only if the server does not have the app
--   clear    not archived, deleted by a restore: caches, and work in progress
--   keep     not archived, not touched
WITH RECURSIVE listed (name, policy) AS (VALUES
    ('auth.apps', 'app'), ('auth.credentials', 'app'),
    -- Sessions stay as long as their user does, so that one that was ended does not come back.
    ('auth.sessions', 'keep'), ('auth.client_sessions', 'keep'), ('auth.authorization_codes', 'keep'), ('auth.revocations', 'keep'),
    ('auth.clients', 'merge'), ('auth.receipts', 'merge'),
    ('auth.exports', 'clear'), ('auth.mail_proofs', 'clear'), ('auth.oauth_flows', 'clear'), ('auth.oauth_codes', 'clear'),
    ('auth.passkey_challenges', 'clear'), ('auth.used_id_tokens', 'keep'),
    -- The server's own.
    ('auth.audit_log', 'keep'), ('auth.attempts', 'keep'), ('auth.id_token_keys', 'keep'), ('auth.key_ring', 'keep'),
    ('auth.mail_counts', 'keep'), ('auth.signing_keys', 'keep'), ('auth.staff', 'keep'), ('auth.staff_identities', 'keep'),
    ('auth.staff_recovery_codes', 'keep'), ('auth.staff_second_factors', 'keep'), ('auth.staff_sessions', 'keep'),
    ('auth.staff_sign_ins', 'keep'), ('auth.status_lease', 'keep'), ('auth.status_samples', 'keep'),
    ('auth.statements', 'keep'), ('auth.statement_samples', 'keep'),
    -- Work of the services.
    ('auth.jobs', 'keep'), ('auth.job_files', 'keep'), ('auth.job_portions', 'keep'), ('storage.jobs', 'keep'),
    ('storage.job_files', 'keep'), ('storage.job_portions', 'keep'), ('config.jobs', 'keep'), ('analytics.jobs', 'keep'),
    ('notifications.jobs', 'keep'), ('notifications.rule_copies', 'keep'), ('storage.index_builds', 'clear'),
    ('storage.slow_queries', 'clear'),
    ('config.spaces', 'merge'), ('config.ended_experiments', 'merge'), ('config.erased_units', 'merge'),
    ('analytics.spaces', 'same'), ('analytics.terms', 'same'), ('analytics.symbol_chunks', 'keep'),
    ('analytics.salts', 'keep'), ('analytics.rollups', 'keep'), ('analytics.batch', 'keep'), ('analytics.request_counts', 'keep'),
    ('analytics.block_reach', 'keep'), ('analytics.blocks', 'clear'), ('analytics.block_names', 'clear'),
    ('analytics.block_properties', 'clear'), ('analytics.block_spaces', 'clear'), ('analytics.crash_quotas', 'clear'),
    ('analytics.crash_spools', 'keep'),
    -- Restored rows may refer to these bytes again.
    ('analytics.ticket_orphans', 'clear'),
    ('notifications.spaces', 'same'), ('notifications.installations', 'merge'), ('notifications.unsubscribed', 'merge'),
    ('notifications.mail_suppressed', 'merge'), ('notifications.mail_forgotten', 'merge'), ('notifications.rule_feeds', 'merge'),
    ('notifications.rule_objects', 'clear'), ('notifications.client_receipts', 'clear')
), tables AS (
    SELECT c.oid, n.nspname AS schema, c.relname AS name, format('%I.%I', n.nspname, c.relname) AS quoted,
        ARRAY(SELECT a.attname::text FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS fields
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('auth', 'storage', 'config', 'analytics', 'notifications') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relname <> 'migrations'
), direct AS (
    SELECT t.*, l.policy AS given,
        CASE
            WHEN t.schema = 'auth' AND t.name = 'apps' THEN 'id = ''@app'''
            WHEN l.policy = 'app' AND 'app_id' = ANY (fields) THEN 'app_id = ''@app'''
            WHEN fields @> '{app_id,environment}' THEN 'app_id = ''@app'' AND environment = ''@environment'''
            WHEN 'app_id' = ANY (fields) THEN 'app_id = ''@app'''
            WHEN t.schema = 'storage' AND 'app' = ANY (fields) THEN 'app = ''@app'''
            WHEN t.schema = 'storage' AND 'schema' = ANY (fields) THEN 'schema = ''@schema'''
            WHEN 'space' = ANY (fields) THEN
                format('space = (SELECT id FROM %I.spaces WHERE app_id = ''@app'' AND environment = ''@environment'')', t.schema)
        END AS condition,
        coalesce(l.policy, CASE
            WHEN fields @> '{app_id}' AND NOT fields @> '{environment}' OR t.schema = 'storage' AND 'app' = ANY (fields) THEN 'app'
            ELSE 'replace' END) AS policy
    FROM tables AS t LEFT JOIN listed AS l ON l.name = t.schema || '.' || t.name
), routes AS (
    SELECT oid, CASE name WHEN 'spaces' THEN 0 ELSE 1 END AS level, policy, condition FROM direct WHERE condition IS NOT NULL
    UNION ALL
    -- Tables whose foreign keys lead to rows that belong to the app.
    SELECT d.oid, r.level + 1, coalesce(d.given, CASE r.policy WHEN 'app' THEN 'app' ELSE 'replace' END),
        format('(%s) IN (SELECT %s FROM %s WHERE %s)', own.names, theirs.names, k.confrelid::regclass, r.condition)
    FROM routes AS r JOIN pg_constraint AS k ON k.confrelid = r.oid AND k.contype = 'f'
        JOIN direct AS d ON d.oid = k.conrelid AND d.condition IS NULL,
        LATERAL (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY i.place) AS names, bool_and(a.attnotnull) AS are_set
            FROM unnest(k.conkey) WITH ORDINALITY AS i (number, place) JOIN pg_attribute AS a
                ON a.attrelid = k.conrelid AND a.attnum = i.number) AS own,
        LATERAL (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY i.place) AS names
            FROM unnest(k.confkey) WITH ORDINALITY AS i (number, place) JOIN pg_attribute AS a
                ON a.attrelid = k.confrelid AND a.attnum = i.number) AS theirs
    WHERE own.are_set AND r.level < 5
), chosen AS (
    SELECT DISTINCT ON (oid) * FROM routes ORDER BY oid, level, condition
)
SELECT jsonb_agg(jsonb_build_object(
    'name', d.schema || '.' || d.name,
    'quoted', d.quoted,
    'policy', coalesce(CASE WHEN d.given IN ('keep') THEN d.given END, c.policy),
    'level', coalesce(c.level, 0),
    'condition', c.condition,
    'columns', (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a
        WHERE a.attrelid = d.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')
    ) ORDER BY coalesce(c.level, 0), d.schema, d.name)::text
FROM direct AS d LEFT JOIN chosen AS c USING (oid)
