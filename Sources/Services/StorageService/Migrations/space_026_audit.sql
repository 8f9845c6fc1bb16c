-- What staff change is written into the audit log.
CREATE TRIGGER audit AFTER INSERT ON _changes FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '') EXECUTE FUNCTION storage.record_object();
CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF name, rules, schema ON _collections FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '')
    EXECUTE FUNCTION storage.record_change('storage', 'collection', 'name', 'name rules schema');
CREATE TRIGGER audit AFTER INSERT OR DELETE ON _roles FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '') EXECUTE FUNCTION storage.record_change('users', 'role', 'name', '');
-- Not for members that go with their role.
CREATE TRIGGER audit AFTER INSERT OR DELETE ON _role_members FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '' AND pg_trigger_depth() = 0)
    EXECUTE FUNCTION storage.record_change('users', 'role-member', 'role member', '');
CREATE TRIGGER audit AFTER INSERT OR DELETE ON _role_managers FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '' AND pg_trigger_depth() = 0)
    EXECUTE FUNCTION storage.record_change('users', 'role-manager', 'role manager', '');
CREATE TRIGGER audit AFTER INSERT OR DELETE ON _role_invitations FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '' AND pg_trigger_depth() = 0)
    EXECUTE FUNCTION storage.record_change('users', 'role-invitation', 'role id', 'uses expires');
CREATE TRIGGER audit AFTER UPDATE OF resolved ON _reports FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '')
    EXECUTE FUNCTION storage.record_change('storage', 'report', 'id', 'collection object resolved');
CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF event, collection, url, timeout_milliseconds, enabled, callers, salt ON _hooks FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '')
    EXECUTE FUNCTION storage.record_change('storage', 'hook', 'name', 'event collection enabled callers timeout_milliseconds');
CREATE TRIGGER audit AFTER INSERT OR DELETE OR UPDATE OF blob, readers, writers ON _files FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '')
    EXECUTE FUNCTION storage.record_change('storage', 'file', 'path', 'size content_type readers writers');
CREATE TRIGGER audit AFTER INSERT OR DELETE ON _closed FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '') EXECUTE FUNCTION storage.record_change('storage', 'closing', 'since', '');
CREATE TRIGGER audit AFTER UPDATE OF maximum_files, maximum_bytes ON _file_usage FOR EACH ROW
    WHEN (coalesce(current_setting('martlet.staff', TRUE), '') <> '')
    EXECUTE FUNCTION storage.record_change('applications', 'file-limits', '', 'maximum_files maximum_bytes');
