extension PostgresQuery {
    /// A `timestamptz` column as RFC 3339 text in UTC with milliseconds.
    public static func rfc3339(_ column: StaticString) -> PostgresQuery {
        var query: PostgresQuery = "to_char("
        query.append(unescaped: column)
        query.append(" AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
        return query
    }
}
