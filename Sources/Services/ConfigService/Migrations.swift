public import MartletPostgres

extension ConfigService {
    /// The schema `config`, step by step. A file is never edited once released.
    ///
    /// The compiler plug-in puts `_` for the leading digit of a file's name: `001_…` is `_01_…`.
    public static let migrations: [Migration] = [
        Migration(number: 1, name: "documents", sql: PackageResources._01_documents_sql),
        Migration(number: 4, name: "experiments", sql: PackageResources._04_experiments_sql),
        Migration(number: 7, name: "definition_keys", sql: PackageResources._07_definition_keys_sql),
    ]
}
