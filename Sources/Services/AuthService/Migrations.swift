import MartletJobs
public import MartletPostgres

extension AuthService {
    /// The migrations of the schema `auth`. A file is never edited once released.
    ///
    /// `PackageResources` replaces the leading digit of a file name with `_`: `001_…` becomes `_01_…`.
    public static let migrations: [Migration] = [
        Migration(number: 1, name: "apps", sql: PackageResources._01_apps_sql),
        Migration(number: 2, name: "users", sql: PackageResources._02_users_sql),
        Migration(number: 3, name: "second_factors", sql: PackageResources._03_second_factors_sql),
        JobQueue.migration(number: 4, schema: name),
        Migration(number: 5, name: "mail", sql: PackageResources._05_mail_sql),
        Migration(number: 6, name: "identities", sql: PackageResources._06_identities_sql),
        Migration(number: 7, name: "oidc_provider", sql: PackageResources._07_oidc_provider_sql),
        Migration(number: 8, name: "staff", sql: PackageResources._08_staff_sql),
        Migration(number: 9, name: "passkeys", sql: PackageResources._09_passkeys_sql),
        Migration(number: 10, name: "user_data", sql: PackageResources._10_user_data_sql),
        Migration(number: 11, name: "apps", sql: PackageResources._11_apps_sql),
        Migration(number: 12, name: "sign_in_places", sql: PackageResources._12_sign_in_places_sql),
        Migration(number: 13, name: "staff_identities", sql: PackageResources._13_staff_identities_sql),
        Migration(number: 14, name: "post_logout", sql: PackageResources._14_post_logout_sql),
        Migration(number: 15, name: "sign_outs", sql: PackageResources._15_sign_outs_sql),
        Migration(number: 16, name: "staff_addresses", sql: PackageResources._16_staff_addresses_sql),
        Migration(number: 17, name: "id_token_keys", sql: PackageResources._17_id_token_keys_sql),
        Migration(number: 18, name: "user_documents", sql: PackageResources._18_user_documents_sql),
        Migration(number: 20, name: "audit", sql: PackageResources._20_audit_sql),
        Migration(number: 21, name: "staff_confirmation", sql: PackageResources._21_staff_confirmation_sql),
        Migration(number: 22, name: "staff_names", sql: PackageResources._22_staff_names_sql),
        Migration(number: 23, name: "disabled_users", sql: PackageResources._23_disabled_users_sql),
        Migration(number: 24, name: "audit_targets", sql: PackageResources._24_audit_targets_sql),
        Migration(number: 25, name: "waiting_jobs", sql: PackageResources._25_waiting_jobs_sql),
        Migration(number: 26, name: "status", sql: PackageResources._26_status_sql),
        Migration(number: 27, name: "staff_passwords", sql: PackageResources._27_staff_passwords_sql),
        Migration(number: 28, name: "statements", sql: PackageResources._28_statements_sql),
        Migration(number: 29, name: "refused_user_changes", sql: PackageResources._29_refused_user_changes_sql),
    ]
}
