import MartletJobs
public import MartletPostgres

extension AuthService {
    /// The schema `auth`, step by step. A file is never edited once released.
    ///
    /// The compiler plug-in puts `_` for the leading digit of a file's name: `001_…` is `_01_…`.
    public static let migrations: [Migration] = [
        Migration(number: 1, name: "apps", sql: PackageResources._01_apps_sql),
        Migration(number: 2, name: "users", sql: PackageResources._02_users_sql),
        Migration(number: 3, name: "second_factors", sql: PackageResources._03_second_factors_sql),
        JobQueue.migration(number: 4, schema: name),
        Migration(number: 6, name: "identities", sql: PackageResources._06_identities_sql),
    ]
}
