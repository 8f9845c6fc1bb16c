import MartletPostgres

/// Which of two releases is newer, as SQL; `Release.isNewer` says the same.
enum ReleaseOrder {
    /// The app of a row's name, before `@`; empty where there is none.
    static func package(_ row: StaticString) -> PostgresQuery {
        "(CASE WHEN strpos(\(unescaped: row).name, '@') > 0 THEN regexp_replace(\(unescaped: row).name, '@[^@]*$', '') ELSE '' END)"
    }

    /// Of two rows of `releases`: by their numbers where both have one and are of the same app, else by which was heard of first.
    static func isNewer(_ row: StaticString, than other: StaticString) -> PostgresQuery {
        """
        (CASE WHEN \(unescaped: row).sort_key IS NOT NULL AND \(unescaped: other).sort_key IS NOT NULL AND \(package(row)) = \(package(other))
            THEN \(unescaped: row).sort_key > \(unescaped: other).sort_key ELSE \(unescaped: row).first_seen > \(unescaped: other).first_seen END)
        """
    }
}
