import MartletPostgres

/// Compares releases in SQL, by the same rules as `Release.isNewer`.
enum ReleaseOrder {
    /// The part of the row's name before `@`; empty if there is none.
    static func package(_ row: StaticString) -> PostgresQuery {
        "(CASE WHEN strpos(\(unescaped: row).name, '@') > 0 THEN regexp_replace(\(unescaped: row).name, '@[^@]*$', '') ELSE '' END)"
    }

    /// Compares two rows of `releases`: by version if both have one and belong to the same package, otherwise by which
    /// was seen first.
    static func isNewer(_ row: StaticString, than other: StaticString) -> PostgresQuery {
        """
        (CASE WHEN \(unescaped: row).sort_key IS NOT NULL AND \(unescaped: other).sort_key IS NOT NULL AND \(package(row)) = \(package(other))
            THEN \(unescaped: row).sort_key > \(unescaped: other).sort_key ELSE \(unescaped: row).first_seen > \(unescaped: other).first_seen END)
        """
    }
}
