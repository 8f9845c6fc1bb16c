-- What staff change is written into the audit log (`auth` 020), without keys, and without whom a message or mail went to.
SELECT
    auth.audit('notifications.credentials', 'notifications', 'push-key', 'kind', 'shown'),
    auth.audit('notifications.installations', 'notifications', 'installation', 'id', '', 'DELETE'),
    auth.audit('notifications.messages', 'notifications', 'message', 'id', 'template state is_paused due',
        'INSERT OR DELETE OR UPDATE OF state, is_paused, due, content, audience'),
    auth.audit('notifications.templates', 'notifications', 'template', 'name', 'version'),
    auth.audit('notifications.segments', 'notifications', 'segment', 'name', 'version'),
    auth.audit('notifications.client_rules', 'notifications', 'client-rules', 'space', 'rules'),
    auth.audit('notifications.rules', 'notifications', 'rule', 'name', 'is_enabled version',
        'INSERT OR DELETE OR UPDATE OF rule, is_enabled, salt'),
    auth.audit('notifications.mail_templates', 'notifications', 'app-mail-template', 'name language', 'subject'),
    auth.audit('notifications.mails', 'notifications', 'mail', 'id', 'template topic state', 'INSERT OR DELETE'),
    auth.audit('notifications.unsubscribed', 'notifications', 'unsubscription', 'topic', '', 'INSERT OR DELETE'),
    auth.audit('notifications.mail_suppressed', 'notifications', 'suppression', 'kind', '', 'DELETE');
