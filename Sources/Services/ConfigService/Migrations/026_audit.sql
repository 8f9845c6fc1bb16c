-- What staff change is written into the audit log (`auth` 020): which document, never what it says.
SELECT
    auth.audit(
        'config.documents', '{"experiment":"experiments","translation":"languages","":"config"}', 'document', 'kind name',
        'live_version last_version first_version'),
    auth.audit('config.schedules', 'config', 'schedule', 'document_id id', 'due state version'),
    auth.audit('config.previews', 'config', 'preview', 'document_id', '', 'INSERT OR DELETE'),
    auth.audit('config.definition_keys', 'config', 'definition-key', 'id', '', 'INSERT');
