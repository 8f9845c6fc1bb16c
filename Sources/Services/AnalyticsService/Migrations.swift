import MartletJobs
public import MartletPostgres

extension AnalyticsService {
    /// The migrations of the schema `analytics`, in the order in which they are applied. A file is never edited once
    /// released.
    ///
    /// The compiler plug-in replaces the leading digit of a file's name with `_`: `001_…` becomes `_01_…`.
    public static let migrations: [Migration] = [
        Migration(number: 1, name: "events", sql: PackageResources._01_events_sql),
        JobQueue.migration(number: 2, schema: name),
        Migration(number: 4, name: "crashes", sql: PackageResources._04_crashes_sql),
        Migration(number: 5, name: "symbols", sql: PackageResources._05_symbols_sql),
        Migration(number: 7, name: "issues", sql: PackageResources._07_issues_sql),
        Migration(number: 3, name: "rollups", sql: PackageResources._03_rollups_sql),
        Migration(number: 6, name: "tickets", sql: PackageResources._06_tickets_sql),
        Migration(number: 8, name: "days anew", sql: PackageResources._08_days_anew_sql),
        Migration(number: 9, name: "releases", sql: PackageResources._09_releases_sql),
        Migration(number: 10, name: "release commits", sql: PackageResources._10_release_commits_sql),
        Migration(number: 16, name: "release deploys", sql: PackageResources._16_release_deploys_sql),
        Migration(number: 14, name: "tickets anew", sql: PackageResources._14_tickets_anew_sql),
        Migration(number: 12, name: "crash intake", sql: PackageResources._12_crash_intake_sql),
        Migration(number: 13, name: "issue life", sql: PackageResources._13_issue_life_sql),
        Migration(number: 11, name: "blocks", sql: PackageResources._11_blocks_sql),
        Migration(number: 17, name: "opt-out secrets", sql: PackageResources._17_opt_out_secrets_sql),
        Migration(number: 26, name: "audit", sql: PackageResources._26_audit_sql),
        Migration(number: 33, name: "questions", sql: PackageResources._33_questions_sql),
    ]
}
