import MartletPostgres

/// SQL that makes an object's JSON text in PostgreSQL, so that this process moves bytes and decodes nothing.
enum Rendering {
    /// The object as a client sees it: system fields first, then the document.
    ///
    /// Ids need no escape (`ObjectID`). Concatenation costs about half of `jsonb_build_object(…) || doc`.
    static func object(keys: [String]? = nil) -> PostgresQuery {
        guard let keys else { return "\(system) || \(unescaped: whole)" }
        return """
            \(system) || coalesce((
                SELECT string_agg(',' || to_json(member.key)::text || ':' || member.value::text, '')
                FROM jsonb_each(doc) AS member WHERE member.key = ANY (\(keys))), '') || '}'
            """
    }

    private static let whole: StaticString =
        "CASE WHEN doc = '{}'::jsonb THEN '}' ELSE ',' || substr(doc::text, 2) END"

    private static let system: PostgresQuery = """
        '{"_id":"' || id \
        || '","created":"' || to_char(created, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') \
        || '","updated":"' || to_char(updated, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') \
        || '","deleted":' || coalesce('"' || to_char(deleted, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') \
        || ',"_version":' || version
        """
}
