import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The fields whose pointers are replaced by their objects, as a tree of names. `*` stands for every field that
/// contains pointers.
struct Include: Sendable {
    static let maximumDepth = 4
    static let maximumFields = 20
    private static let maximumLookups = 100

    private(set) var children: [(name: String, include: Include)] = []

    var isEmpty: Bool { children.isEmpty }

    init() {}

    /// Parses `author,author.company,comments`.
    ///
    /// - Throws: `invalid-parameter`.
    init(_ text: Substring) throws {
        let paths = text.split(separator: ",", omittingEmptySubsequences: false)
        guard paths.count <= Self.maximumFields else {
            throw ServiceError(
                .invalidParameter, "At most \(Self.maximumFields) fields may be included.", field: "include")
        }
        for path in paths {
            guard let parts = try? FieldPath(String(path)).parts else {
                throw ServiceError.unexpectedParameter(
                    "include", expected: "fields or dotted paths, separated by commas", found: path)
            }
            guard parts.count <= Self.maximumDepth else {
                throw ServiceError(
                    .limitExceeded, "Objects may be included to a depth of at most \(Self.maximumDepth).",
                    field: "include")
            }
            insert(parts[...])
        }
    }

    /// The collections, of this one and those that the fields point to, in which no pointer is known for a named field.
    ///
    /// Looks up at most `maximumLookups` fields, because a field may point to several collections, and each of their
    /// fields to several others.
    func unresolved(
        from collection: CollectionName, in known: [String: RightsStore.Collection]
    ) -> Set<CollectionName> {
        var lookups = 0
        return unresolved(from: [collection], in: known, &lookups)
    }

    private func unresolved(
        from collections: Set<CollectionName>, in known: [String: RightsStore.Collection], _ lookups: inout Int
    ) -> Set<CollectionName> {
        var unresolved: Set<CollectionName> = []
        for child in children where child.name != "*" {
            lookups += collections.count
            guard lookups <= Self.maximumLookups else { break }
            let classes = Set(
                collections.flatMap { Inclusion.classes(known[$0.text]?.fields[FieldName(child.name)] ?? []) })
            unresolved.formUnion(
                classes.isEmpty ? collections : child.include.unresolved(from: classes, in: known, &lookups))
        }
        return unresolved
    }

    private mutating func insert(_ parts: ArraySlice<String>) {
        guard let name = parts.first else { return }
        if let index = children.firstIndex(where: { FieldName($0.name) == FieldName(name) }) {
            children[index].include.insert(parts.dropFirst())
        } else {
            children.append((name, Include()))
            children[children.count - 1].include.insert(parts.dropFirst())
        }
    }
}

/// Generates the SQL for included objects: a subquery by primary key for each, in the statement that reads the page.
///
/// The types that were written to a field tell to which collections it points. Objects that are removed or that the
/// caller may not get are omitted: the key is absent, or the list is shorter.
struct Inclusion {
    let scope: QueryScope
    let known: [String: RightsStore.Collection]
    /// The maximum number of collections to which one field may point.
    private static let maximumClasses = 8

    private(set) var collections: Set<CollectionName> = []
    private var fields = 0
    private var depth = 0

    init(scope: QueryScope, known: [String: RightsStore.Collection]) {
        self.scope = scope
        self.known = known
    }

    /// Replaces the pointers in `document`, the visible part of an object in `scope`.
    ///
    /// - Throws: `forbidden` naming a hidden field, `limit-exceeded`.
    mutating func document(_ document: PostgresQuery, of scope: QueryScope, _ include: Include) throws -> PostgresQuery
    {
        let requested = try Self.resolved(include, in: scope, known[scope.collection.text]?.fields ?? [:])
            .compactMap { name, include, classes in
                PostgresLiteral(name).map { (name: $0, include: include, classes: classes) }
            }
            .filter { !$0.classes.isEmpty }
        guard !requested.isEmpty else { return document }
        fields += requested.count
        guard fields <= 2 * Include.maximumFields else {
            throw ServiceError(.limitExceeded, "Too many fields are included.", field: "include")
        }
        depth += 1
        defer { depth -= 1 }
        let (whole, values) = (Self.alias("whole", depth), Self.alias("member", depth))
        var selected: [PostgresQuery] = []
        var merged: [PostgresQuery] = []
        for (number, field) in requested.enumerated() {
            let column = Self.alias("value\(number)_", depth)
            selected.append("\(try value("\(whole).doc->\(field.name)", field.classes, field.include)) AS \(column)")
            merged.append(
                " || CASE WHEN \(values).\(column) IS NULL THEN '{}' ELSE jsonb_build_object(\(field.name), \(values).\(column)) END"
            )
        }
        return """
            (SELECT (\(whole).doc - ARRAY[\(requested.map { "\($0.name)" as PostgresQuery }.joined(separator: ", "))])\(merged.joined(separator: "")) \
            FROM (SELECT \(document) AS doc OFFSET 0) AS \(whole) \
            CROSS JOIN LATERAL (SELECT \(selected.joined(separator: ", ")) OFFSET 0) AS \(values))
            """
    }

    private mutating func value(_ value: PostgresQuery, _ classes: [CollectionName], _ include: Include) throws
        -> PostgresQuery
    {
        let element = Self.alias("element", depth)
        let each = try object("\(element).item", classes, include)
        // A single pointer is treated as a list with one element, so that the subquery for the included object occurs
        // only once in the statement.
        return """
            CASE WHEN \(value) IS NOT NULL THEN (
                SELECT CASE WHEN jsonb_typeof(\(value)) = 'array'
                    THEN coalesce(jsonb_agg(found ORDER BY position) FILTER (WHERE found IS NOT NULL), '[]') ELSE (array_agg(found))[1] END
                FROM (
                    SELECT position, \(each) AS found
                    FROM jsonb_array_elements(CASE WHEN jsonb_typeof(\(value)) = 'array' THEN \(value) ELSE jsonb_build_array(\(value)) END)
                        WITH ORDINALITY AS \(element) (item, position)) AS found) END
            """
    }

    /// The object to which a pointer points; any other value stays unchanged.
    private mutating func object(_ value: PostgresQuery, _ classes: [CollectionName], _ include: Include) throws
        -> PostgresQuery
    {
        var cases: PostgresQuery = ""
        for collection in classes {
            let other = scope.scope(of: collection)
            collections.insert(collection)
            let access = other.access
            let conditions =
                (["id = \(value)->>'objectId'", "deleted IS NULL"] + [access.readable(for: .get)].compactMap(\.self))
                as [PostgresQuery]
            let document = try document(access.visible(), of: other, include)
            cases.append(
                """
                 WHEN \(value)->>'className' = \(collection.text) THEN (
                    SELECT \(Rendering.included(collection)) || \(document) FROM \(try other.source) WHERE \(conditions.joined(separator: " AND ")))
                """)
        }
        return "CASE WHEN \(value)->>'__type' = 'Pointer' THEN CASE\(cases) ELSE \(value) END ELSE \(value) END"
    }

    /// The requested fields, each with the collections to which it points.
    private static func resolved(
        _ include: Include, in scope: QueryScope, _ types: [FieldName: [String]]
    ) throws -> [(name: String, include: Include, classes: [CollectionName])] {
        var resolved: [(name: String, include: Include, classes: [CollectionName])] = []
        for child in include.children where child.name != "*" {
            try scope.access.check(try FieldPath(child.name))
            resolved.append((child.name, child.include, classes(types[FieldName(child.name)] ?? [])))
        }
        guard let all = include.children.first(where: { $0.name == "*" }) else { return resolved }
        for (name, types) in types.sorted(by: { $0.key < $1.key })
        where !resolved.contains(where: { FieldName($0.name) == name }) {
            guard !classes(types).isEmpty, let path = try? FieldPath(name.text), (try? scope.access.check(path)) != nil
            else { continue }
            resolved.append((name.text, all.include, classes(types)))
        }
        return resolved
    }

    /// The distinct collections in types such as `Pointer<User>` and `Array<Pointer<Team>,Pointer<User>>`.
    static func classes(_ types: [String]) -> [CollectionName] {
        var names: Set<Substring> = []
        for type in types {
            var rest = type[...]
            while let start = rest.range(of: "Pointer<") {
                rest = rest[start.upperBound...]
                names.insert(rest.prefix { $0 != ">" })
            }
        }
        return names.sorted().prefix(maximumClasses).compactMap { try? CollectionName(String($0)) }
    }

    private static func alias(_ name: String, _ depth: Int) -> PostgresQuery {
        PostgresQuery(unescaped: "\(name)\(depth)")
    }
}
