public import MartletPostgres

extension ConfigService {
    /// The migrations of the schema `config`. A file is never edited once released.
    ///
    /// The compiler plug-in replaces a file name's leading digit with `_` and the digit: `001_…` becomes `_01_…`.
    public static let migrations: [Migration] = [
        Migration(number: 1, name: "documents", sql: PackageResources._01_documents_sql),
        Migration(number: 2, name: "experiments", sql: PackageResources._02_experiments_sql),
        Migration(number: 3, name: "definition_keys", sql: PackageResources._03_definition_keys_sql),
        Migration(number: 4, name: "experiment_lives", sql: PackageResources._04_experiment_lives_sql),
        Migration(number: 5, name: "observation_sources", sql: PackageResources._05_observation_sources_sql),
        Migration(number: 6, name: "previews", sql: PackageResources._06_previews_sql),
        Migration(number: 26, name: "audit", sql: PackageResources._26_audit_sql),
    ]
}
