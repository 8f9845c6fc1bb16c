-- One audit log for all services. What staff change in an app is written into it by triggers, in the statement of the change.
--
-- The client of PostgreSQL sets martlet.staff for the statements of a request by staff (`StaffActor`): Base64 of
-- {"id","name","address","app","environment"}. Rows that others write are not looked at. An expression that somebody manages to bring into a
-- statement cannot set it: set_config is revoked.

ALTER TABLE auth.audit_log ADD COLUMN environment text CHECK (environment IN ('live', 'test'));

-- Adds an entry for the member of staff in martlet.staff. What is larger than 32 KiB is replaced by its size.
CREATE FUNCTION auth.write_audit_entry(action text, area text, target text, environment text, before jsonb, after jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    actor jsonb := convert_from(decode(current_setting('martlet.staff'), 'base64'), 'UTF8')::jsonb;
BEGIN
    IF octet_length(before::text) > 32768 THEN before := jsonb_build_object('tooLarge', octet_length(before::text)); END IF;
    IF octet_length(after::text) > 32768 THEN after := jsonb_build_object('tooLarge', octet_length(after::text)); END IF;
    INSERT INTO auth.audit_log (staff_id, staff_name, action, area, app_id, environment, target, before, after, address)
    VALUES ((actor ->> 'id')::uuid, actor ->> 'name', action, area, actor ->> 'app', coalesce(environment, actor ->> 'environment'),
        left(target, 1000), before, after, actor ->> 'address');
END
$function$;

-- Adds an entry for a row. Of changed columns the values are shown that `shown` names; of the others only the names, in `changed`.
--
-- `area` is the area of rights, or of a table whose rows have a `kind`, {"<kind>":"<area>","":"<area of all others>"}.
-- `names` are the columns that name the row.
CREATE FUNCTION auth.write_audit_row(
    operation text, area text, kind text, names text[], shown text[], environment text, was jsonb, becomes jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    stored jsonb := coalesce(becomes, was);
    changed text[] := ARRAY(
        SELECT c FROM jsonb_object_keys(stored) AS c
        WHERE was -> c IS DISTINCT FROM becomes -> c AND c NOT IN ('updated', 'changed') ORDER BY c);
    hidden text[] := ARRAY(SELECT c FROM unnest(changed) AS c WHERE c <> ALL (shown));
    target text := (
        SELECT string_agg(stored ->> n.name, '/' ORDER BY n.place) FROM unnest(names) WITH ORDINALITY AS n (name, place));
BEGIN
    IF changed = '{}' THEN RETURN; END IF;
    IF area LIKE '{%' THEN area := coalesce(area::jsonb ->> (stored ->> 'kind'), area::jsonb ->> ''); END IF;
    changed := ARRAY(
        SELECT c FROM unnest(changed) AS c WHERE c = ANY (shown) AND (operation = 'UPDATE' OR stored -> c <> 'null'));
    was := (SELECT jsonb_object_agg(c, was -> c) FROM unnest(changed) AS c WHERE was IS NOT NULL);
    becomes := (SELECT jsonb_object_agg(c, becomes -> c) FROM unnest(changed) AS c WHERE becomes IS NOT NULL);
    IF operation = 'UPDATE' AND hidden <> '{}' THEN
        becomes := coalesce(becomes, '{}') || jsonb_build_object('changed', to_jsonb(hidden));
    END IF;
    PERFORM auth.write_audit_entry(
        CASE operation WHEN 'INSERT' THEN 'create' ELSE lower(operation) END || '-' || kind, area, target, environment, was, becomes);
END
$function$;

-- Arguments: area and kind; the columns that name the row, and those that are shown, with spaces between them.
CREATE FUNCTION auth.record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    PERFORM auth.write_audit_row(
        TG_OP, TG_ARGV[0], TG_ARGV[1], string_to_array(TG_ARGV[2], ' '), string_to_array(TG_ARGV[3], ' '), NULL,
        CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END, CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END);
    RETURN NULL;
END
$function$;

-- Has the changes of a table by staff written into the log: for migrations of the services.
CREATE FUNCTION auth.audit(
    changes regclass, area text, kind text, names text, shown text, events text DEFAULT 'INSERT OR UPDATE OR DELETE') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    EXECUTE format(
        'CREATE TRIGGER audit_%s AFTER %s ON %s FOR EACH ROW WHEN (coalesce(current_setting(''martlet.staff'', TRUE), '''') <> '''') '
            'EXECUTE FUNCTION auth.record_change(%L, %L, %L, %L)', replace(kind, '-', '_'), events, changes, area, kind, names, shown);
END
$function$;

-- Deletes up to 50,000 old entries, the oldest first: the service's role cannot delete others.
CREATE FUNCTION auth.prune_audit_log(days integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    count bigint;
BEGIN
    IF days IS NULL OR days < 30 THEN
        RAISE EXCEPTION 'the audit log is kept for at least 30 days' USING ERRCODE = '22023';
    END IF;
    DELETE FROM auth.audit_log WHERE number IN (
        SELECT number FROM auth.audit_log WHERE at < now() - make_interval(days => days) ORDER BY at LIMIT 50000);
    GET DIAGNOSTICS count = ROW_COUNT;
    RETURN count;
END
$function$;

REVOKE ALL ON FUNCTION auth.write_audit_entry(text, text, text, text, jsonb, jsonb),
    auth.write_audit_row(text, text, text, text[], text[], text, jsonb, jsonb), auth.record_change(),
    auth.audit(regclass, text, text, text, text, text), auth.prune_audit_log(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION auth.prune_audit_log(integer) TO martlet_auth;

-- Users: names, addresses and profiles are theirs, so the log says only that they changed.
SELECT
    auth.audit('auth.users', 'users', 'user', 'id', 'disabled email_verified deleting'),
    auth.audit('auth.sessions', 'users', 'session', 'user_id id', 'revoked', 'UPDATE OF revoked'),
    auth.audit('auth.second_factors', 'users', 'second-factor', 'user_id', '', 'DELETE'),
    auth.audit('auth.passkeys', 'users', 'passkey', 'user_id id', '', 'DELETE'),
    auth.audit('auth.exports', 'users', 'export', 'user_id', '', 'INSERT OR DELETE'),
    auth.audit('auth.settings', 'users', 'settings', 'environment', 'settings'),
    auth.audit('auth.passkey_settings', 'users', 'passkey-settings', 'environment', 'rp_id rp_name origins'),
    auth.audit('auth.mail_senders', 'users', 'mail-sender', 'environment', 'name address'),
    auth.audit('auth.mail_templates', 'users', 'mail-template', 'kind language', 'subject'),
    auth.audit('auth.invitations', 'users', 'invitation', 'id', 'expires', 'INSERT OR DELETE'),
    auth.audit('auth.identity_providers', 'users', 'identity-provider', 'name', 'configuration'),
    auth.audit('auth.clients', 'users', 'client', 'id', 'name redirect_uris scopes');
