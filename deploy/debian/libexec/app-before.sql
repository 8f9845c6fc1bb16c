-- Before an environment's rows are deleted: keeps what must outlast a restore.
CREATE TEMPORARY TABLE former_users_@environment ON COMMIT DROP AS
    SELECT id, password, disabled FROM auth.users WHERE app_id = '@app' AND environment = '@environment';
CREATE TEMPORARY TABLE opted_out_@environment ON COMMIT DROP AS
    SELECT p.person, p.opted_out, p.opt_outs FROM analytics.people AS p JOIN analytics.spaces AS s ON s.id = p.space
    WHERE s.app_id = '@app' AND s.environment = '@environment' AND p.opted_out IS NOT NULL;
