import MartletJobs
public import MartletPostgres

extension StorageService {
    /// The migrations of the schema `storage`. A file must not be edited once released.
    ///
    /// The compiler plug-in replaces the leading digit of a file's name with `_`: `001_…` becomes `_01_…`.
    public static let migrations: [Migration] = [
        Migration(number: 1, name: "provision", sql: PackageResources._01_provision_sql),
        Migration(number: 2, name: "space", sql: PackageResources._02_space_sql),
        Migration(number: 4, name: "query", sql: PackageResources._04_query_sql),
        JobQueue.migration(number: 10, schema: name),
        Migration(number: 11, name: "spool", sql: PackageResources._11_spool_sql),
        Migration(number: 12, name: "hooks", sql: PackageResources._12_hooks_sql),
        Migration(number: 13, name: "user_data", sql: PackageResources._13_user_data_sql),
        Migration(number: 14, name: "index_builds", sql: PackageResources._14_index_builds_sql),
        Migration(number: 15, name: "file_usage", sql: PackageResources._15_file_usage_sql),
        Migration(number: 16, name: "pass_readers", sql: PackageResources._16_pass_readers_sql),
        Migration(number: 18, name: "schemas", sql: PackageResources._18_schemas_sql),
        Migration(number: 19, name: "access", sql: PackageResources._19_access_sql),
        Migration(number: 26, name: "audit", sql: PackageResources._26_audit_sql),
        Migration(number: 31, name: "object_limits", sql: PackageResources._31_object_limits_sql),
        Migration(number: 33, name: "slow_queries", sql: PackageResources._33_slow_queries_sql),
        Migration(number: 34, name: "forget_hidden", sql: PackageResources._34_forget_hidden_sql),
    ]
}
