import MartletPostgres

/// SQL that generates the JSON text of objects in PostgreSQL, so that this process passes on bytes without decoding.
enum Rendering {
    /// The object as shown to a client: system fields first, then the document without fields hidden from the caller.
    ///
    /// Ids need no escaping (`ObjectID`). Concatenation costs about half as much as `jsonb_build_object(…) || doc`.
    ///
    /// - Parameter isPast: as for `Access.visible`.
    static func object(_ access: Access, keys: [String]? = nil, isPast: Bool = false) -> PostgresQuery {
        guard let keys else { return "\(system) || \(whole(access, isPast: isPast))" }
        return object(access.visible(isPast: isPast), keys: keys)
    }

    /// The object with the given document instead of its own.
    static func object(_ document: PostgresQuery, keys: [String]?) -> PostgresQuery {
        guard let keys else {
            return """
                \(system) || (SELECT CASE WHEN shown.doc = '{}'::jsonb THEN '}' ELSE ',' || substr(shown.doc::text, 2) END \
                FROM (SELECT \(document) AS doc OFFSET 0) AS shown)
                """
        }
        return """
            \(system) || coalesce((
                SELECT string_agg(',' || to_json(member.key)::text || ':' || member.value::text, '')
                FROM jsonb_each(\(document)) AS member WHERE member.key = ANY (\(keys))), '') || '}'
            """
    }

    /// The system fields, as `jsonb`, of an object that replaces a pointer.
    static func included(_ collection: CollectionName) -> PostgresQuery {
        """
        jsonb_strip_nulls(jsonb_build_object('__type', 'Object', 'className', \(collection.text), '_id', id, \
        'created', to_char(created, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'updated', to_char(updated, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), \
        '_readers', to_jsonb(readers), '_writers', to_jsonb(writers), '_version', version))
        """
    }

    /// `3-1795262400000`: the version, and the time of the write in milliseconds, because an id may be used again after
    /// deletion.
    static let entityTag = entityTag(of: "version", "updated")

    static func entityTag(of version: PostgresQuery, _ updated: PostgresQuery) -> PostgresQuery {
        "\(version) || '-' || (extract(epoch FROM \(updated)) * 1000)::bigint"
    }

    private static func whole(_ access: Access, isPast: Bool) -> PostgresQuery {
        guard !access.hidesNothing else {
            return "CASE WHEN doc = '{}'::jsonb THEN '}' ELSE ',' || substr(doc::text, 2) END"
        }
        let visible = access.visible(isPast: isPast)
        return "CASE WHEN \(visible) = '{}'::jsonb THEN '}' ELSE ',' || substr(\(visible)::text, 2) END"
    }

    private static let system: PostgresQuery = """
        '{"_id":"' || id \
        || '","created":"' || to_char(created, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') \
        || '","updated":"' || to_char(updated, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') \
        || '","deleted":' || coalesce('"' || to_char(deleted, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null') \
        || coalesce(',"_readers":' || array_to_json(readers)::text, '') \
        || coalesce(',"_writers":' || array_to_json(writers)::text, '') \
        || ',"_version":' || version
        """
}
