import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// Every table of every service has its changes by staff written into the audit log, or is listed here.
@Suite struct AuditCoverageTests {
    /// Tables that staff never write, tables whose changes show in a row of another table, and tables whose changes the
    /// service itself records: the server's own apps, keys and staff (`AuditStore`).
    private static let exceptions: Set<String> = [
        // Recorded by the endpoints of auth
        "auth.apps", "auth.app_icons", "auth.app_versions", "auth.version_pictures", "auth.credentials", "auth.staff",
        "auth.staff_identities", "auth.staff_recovery_codes", "auth.staff_second_factors", "auth.staff_sessions",
        "auth.staff_sign_ins", "auth.audit_log",
        // Written when users and devices act, or for them
        "auth.authorization_codes", "auth.client_grants", "auth.client_sessions", "auth.identities", "auth.mail_proofs",
        "auth.oauth_codes", "auth.oauth_flows", "auth.passkey_challenges", "auth.recovery_codes", "auth.sign_in_places",
        "auth.used_id_tokens", "_blocks", "_relations", "_thumbnails", "_transfers", "_transfer_parts", "_uploads",
        "notifications.client_receipts",
        // Follows from a row that is logged
        "_User", "_rule_versions", "auth.receipts", "auth.revocations", "config.versions", "config.ended_experiments",
        "analytics.ticket_history",
        "analytics.ticket_people", "analytics.ticket_orphans", "analytics.ticket_feedback", "analytics.issue_history",
        "analytics.commit_fixes", "notifications.deliveries",
        // Kept by the services for themselves
        "auth.attempts", "auth.id_token_keys", "auth.job_files", "auth.job_portions", "auth.jobs", "auth.key_ring",
        "auth.mail_counts", "auth.signing_keys", "auth.statement_samples", "auth.statements", "auth.status_lease",
        "auth.status_samples", "auth.user_changes",
        "storage.hook_spaces", "storage.job_files", "storage.job_portions", "storage.slow_queries",
        "storage.spaces", "_changes_floor", "_hook_deliveries", "_hook_failures", "_idempotency", "_orphans",
        "_role_guesses",
        "config.erased_units", "config.exposures", "config.observations", "config.spaces",
        "notifications.delivery_counts",
        "notifications.jobs", "notifications.mail_forgotten", "notifications.rule_copies",
        "notifications.rule_deliveries",
        "notifications.rule_feeds", "notifications.rule_objects", "notifications.rule_runs", "notifications.spaces",
    ]

    @Test func `every table is audited, or is an exception with a reason`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.post("/storage/Note", "{}").status == 201)
        let schema = try app.space().schema
        let tables = try await app.superuser.query(
            """
            SELECT CASE n.nspname WHEN \(schema) THEN c.relname ELSE n.nspname || '.' || c.relname END
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind IN ('r', 'p') AND n.nspname IN ('auth', 'storage', 'config', 'analytics', 'notifications', \(schema))
                AND c.relname NOT IN ('migrations', 'Note') AND NOT c.relispartition
                AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname LIKE 'audit%')
            """
        ).map { try $0.decode(0, as: String.self) }
        // Of analytics, only tables that staff change are logged: the others hold what apps sent.
        let open = Set(tables).subtracting(Self.exceptions).filter {
            !$0.hasPrefix("analytics.") || $0.contains("ticket")
        }
        #expect(open.sorted() == [])
        #expect(
            Self.exceptions.subtracting(tables).sorted() == [], "exceptions for tables that are logged or do not exist")
    }
}
