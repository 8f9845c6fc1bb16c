-- Before an app's rows are deleted: its users' sessions end, so that services that were told of them are told of that.
DELETE FROM auth.sessions WHERE user_id IN (SELECT id FROM auth.users WHERE app_id = '@app' AND environment = '@environment');
DELETE FROM analytics.symbol_chunks WHERE app_id = '@app';
