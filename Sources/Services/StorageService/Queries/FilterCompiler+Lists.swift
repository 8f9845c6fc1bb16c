import MartletAPI
import MartletCore
import MartletPostgres

/// How a rule's conditions apply to fields that contain lists.
///
/// One matching element is enough, as in a client's filter. In a document about to be written, each element that the
/// write adds must match; otherwise the writer could add elements that the rule does not allow. In a negation, one
/// matching element is enough to refuse the write.
extension FilterCompiler {
    /// The maximum number of elements of a list that a rule looks up.
    static let maximumLookedUp = 100

    /// The negation of a condition. It is false where the condition is NULL.
    mutating func negating(_ condition: (inout FilterCompiler) throws -> PostgresQuery) rethrows -> PostgresQuery {
        isNegated.toggle()
        defer { isNegated.toggle() }
        return "(\(try condition(&self))) IS NOT TRUE"
    }

    /// Applies the condition to a field or, if the field is a list, to each element that the write adds.
    func onAdded(_ target: Target, _ condition: PostgresQuery) -> PostgresQuery {
        guard isNew, !isNegated, case .document(let path) = target else { return condition }
        let old: PostgresQuery =
            rule?.states == .created
            ? "" : " EXCEPT SELECT jsonb_array_elements(\(Self.list(path.expression(in: "old_doc"))))"
        return """
            ((\(condition)) AND NOT EXISTS (\
            SELECT FROM (SELECT jsonb_array_elements(\(Self.list(path.expression)))\(old)) AS added (element) \
            CROSS JOIN LATERAL (SELECT \(path.document(with: "element"))) AS single (doc) \
            WHERE jsonb_typeof(element) = 'array' OR (\(condition)) IS NOT TRUE))
            """
    }

    /// A rule's condition that looks up each element of a list. If the list is too long, the rule admits nobody.
    func lookingUp(_ path: PostgresQuery, _ condition: PostgresQuery) -> PostgresQuery {
        guard rule != nil else { return condition }
        let isLong: PostgresQuery = "jsonb_array_length(\(Self.list(path))) > \(Self.maximumLookedUp)"
        return isNegated ? "(\(isLong) OR \(condition))" : "(NOT \(isLong) AND \(condition))"
    }

    private static func list(_ path: PostgresQuery) -> PostgresQuery {
        "CASE WHEN jsonb_typeof(\(path)) = 'array' THEN \(path) ELSE '[]' END"
    }
}
