-- Before an app's rows are deleted: ends its users' sessions, so that the services that know them learn of it.
DELETE FROM auth.sessions WHERE user_id IN (SELECT id FROM auth.users WHERE app_id = '@app' AND environment = '@environment');
DELETE FROM analytics.symbol_chunks WHERE app_id = '@app';
