-- After an environment's rows are restored: nothing is sent a second time, users who have left or unsubscribed since the archive
-- get nothing, and the services read everything anew.

-- Sessions of users who are not in the archive end, and gateways refuse their tokens.
DELETE FROM auth.sessions WHERE user_id IN (SELECT id FROM former_users_@environment EXCEPT SELECT id FROM auth.users);
-- A device whose session is not there is signed out.
UPDATE notifications.installations AS i SET user_id = NULL, session_id = NULL
WHERE space = (SELECT id FROM notifications.spaces WHERE app_id = '@app' AND environment = '@environment') AND session_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM auth.sessions AS s WHERE s.id = i.session_id AND s.revoked IS NULL);
INSERT INTO analytics.people AS p (space, person, opted_out, opt_outs)
SELECT s.id, o.person, o.opted_out, o.opt_outs FROM opted_out_@environment AS o, analytics.spaces AS s
WHERE s.app_id = '@app' AND s.environment = '@environment'
ON CONFLICT (space, person) DO UPDATE SET opted_out = excluded.opted_out, opt_outs = excluded.opt_outs WHERE p.opted_out IS NULL;

-- What was under way at the time of the archive has been sent since then, or is too late.
UPDATE notifications.deliveries SET state = CASE state WHEN 'queued' THEN 'cancelled' ELSE 'unknown' END, updated = now()
WHERE space = (SELECT id FROM notifications.spaces WHERE app_id = '@app' AND environment = '@environment') AND state IN ('queued', 'sending');
UPDATE notifications.messages SET state = 'cancelled', finished = now()
WHERE space = (SELECT id FROM notifications.spaces WHERE app_id = '@app' AND environment = '@environment')
    AND (state IN ('planning', 'sending') OR state = 'scheduled' AND due < now());
DELETE FROM notifications.mails
WHERE space = (SELECT id FROM notifications.spaces WHERE app_id = '@app' AND environment = '@environment') AND state = 'queued';
DELETE FROM notifications.rule_deliveries
WHERE space = (SELECT id FROM notifications.spaces WHERE app_id = '@app' AND environment = '@environment') AND state = 'waiting';
UPDATE config.schedules SET state = 'cancelled', finished = now() WHERE state = 'waiting' AND due < now()
    AND document_id IN (SELECT id FROM config.documents WHERE app_id = '@app' AND environment = '@environment');

-- Blocks of events are made again (docs/ARCHITECTURE.md, Blocks of events).
UPDATE analytics.block_reach SET reached = '-infinity';
-- A later change of a profile must have a greater version than the profile in storage.
SELECT format('SELECT setval(''auth.user_versions'', greatest((SELECT last_value FROM auth.user_versions),
    (SELECT coalesce(max(version), 1) FROM %s)))', profiles)
FROM to_regclass('@schema."_User"') AS profiles WHERE profiles IS NOT NULL \gexec
UPDATE config.spaces SET generation = generation + 1 WHERE app_id = '@app' AND environment = '@environment';
UPDATE notifications.rule_feeds AS f SET generation = generation + 1, is_active = EXISTS (
    SELECT FROM notifications.rules AS r WHERE r.space = f.space AND r.is_enabled AND r.rule -> 'when' ? 'collection')
WHERE space = (SELECT id FROM notifications.spaces WHERE app_id = '@app' AND environment = '@environment');
SELECT pg_notify('martlet_storage_rights', '@schema'), pg_notify('martlet_user_changes', '') \g /dev/null
