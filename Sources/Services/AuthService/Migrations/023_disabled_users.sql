-- Storage now keeps disabled users for the app's server and staff. Those who are disabled already are passed on when no copy of an older version,
-- which would leave them out, runs any more.
INSERT INTO auth.user_changes (user_id, app_id, environment, version, due)
SELECT id, app_id, environment, nextval('auth.user_versions'), now() + interval '5 minutes' FROM auth.users WHERE disabled AND NOT deleting
ON CONFLICT (user_id, app_id, environment) DO NOTHING;
