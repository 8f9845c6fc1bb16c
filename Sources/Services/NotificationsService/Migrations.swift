import MartletJobs
public import MartletPostgres

extension NotificationsService {
    /// The migrations of the schema `notifications`, in order. A file is never edited once released.
    ///
    /// The compiler plug-in replaces the leading digit of a file name with `_`: `001_…` becomes `_01_…`.
    public static let migrations: [Migration] = [
        Migration(number: 1, name: "devices", sql: PackageResources._01_devices_sql),
        JobQueue.migration(number: 2, schema: name),
        Migration(number: 3, name: "messages", sql: PackageResources._03_messages_sql),
        Migration(number: 4, name: "rules", sql: PackageResources._04_rules_sql),
        Migration(number: 5, name: "mail", sql: PackageResources._05_mail_sql),
        Migration(number: 6, name: "delivery", sql: PackageResources._06_delivery_sql),
        Migration(number: 7, name: "queue", sql: PackageResources._07_queue_sql),
        Migration(number: 8, name: "sessions_and_pauses", sql: PackageResources._08_sessions_and_pauses_sql),
        Migration(number: 9, name: "rule_states", sql: PackageResources._09_rule_states_sql),
        Migration(number: 10, name: "mail", sql: PackageResources._10_mail_sql),
        Migration(number: 11, name: "client_receipts", sql: PackageResources._11_client_receipts_sql),
        Migration(number: 26, name: "audit", sql: PackageResources._26_audit_sql),
    ]
}
