-- What staff change is written into the audit log (`auth` 020). Texts of people are left out, ticket_history has them.
SELECT
    auth.audit('analytics.settings', 'analytics', 'settings', 'space', 'retention_days privacy is_collecting time_zone'),
    auth.audit('analytics.crash_settings', 'crashes', 'crash-settings', 'space', 'retention_days'),
    auth.audit(
        'analytics.crash_alerts', 'crashes', 'alert', 'name', 'kind enabled scope measure threshold window_seconds minimum pause_seconds',
        'INSERT OR DELETE OR UPDATE OF name, kind, enabled, levels, releases, scope, measure, threshold, window_seconds, minimum, pause_seconds, target, salt'),
    auth.audit(
        'analytics.issues', 'crashes', 'issue', 'number', 'status assignee ignored_until ignored_until_events ignored_until_users deleted',
        'DELETE OR UPDATE OF status, assignee, ignored_until, ignored_until_events, ignored_until_users, deleted'),
    auth.audit('analytics.merged_issues', 'crashes', 'merged-issue', 'number', 'number', 'INSERT'),
    auth.audit('analytics.debug_files', 'crashes', 'symbol-file', 'debug_id', '', 'DELETE'),
    auth.audit('analytics.ticket_spaces', 'tickets', 'ticket-settings', 'space', 'prefix', 'UPDATE OF prefix'),
    auth.audit('analytics.ticket_sprints', 'tickets', 'sprint', 'number', 'name starts ends state'),
    auth.audit('analytics.tickets', 'tickets', 'ticket', 'number', 'type status priority assignee app_version sprint deleted',
        'INSERT OR DELETE OR UPDATE OF type, status, priority, title, description, assignee, app_version, sprint, position, deleted'),
    auth.audit('analytics.ticket_labels', 'tickets', 'label', 'name', 'name color'),
    auth.audit('analytics.ticket_label_uses', 'tickets', 'ticket-label', 'ticket label', '', 'INSERT OR DELETE'),
    auth.audit('analytics.ticket_comments', 'tickets', 'comment', 'ticket number', ''),
    auth.audit('analytics.ticket_attachments', 'tickets', 'attachment', 'ticket number', 'content_type size', 'INSERT OR DELETE'),
    auth.audit('analytics.ticket_links', 'tickets', 'ticket-link', 'source kind target', '', 'INSERT OR DELETE'),
    auth.audit('analytics.ticket_issues', 'tickets', 'ticket-issue', 'ticket issue', '', 'INSERT OR DELETE');
