import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// A field by which a list is ordered.
struct OrderKey: Sendable {
    var target: Target
    var isDescending: Bool

    var sql: PostgresQuery { isDescending ? "\(target.expression) DESC" : target.expression }
    var text: String { (isDescending ? "-" : "") + target.name }
}

enum ListOrder {
    static let maximumKeys = 4

    /// Parses `name,-age`.
    ///
    /// - Throws: `invalid-parameter`, `forbidden` naming a hidden field.
    static func keys(_ text: Substring, _ access: Access) throws -> [OrderKey] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false)
        guard names.count <= maximumKeys else {
            throw ServiceError(
                .invalidParameter, "A list may be ordered by at most \(maximumKeys) fields.", field: "order")
        }
        return try names.map { name in
            let target: Target
            do {
                target = try Target(String(name.hasPrefix("-") ? name.dropFirst() : name))
            } catch {
                throw ServiceError.unexpectedParameter(
                    "order", expected: "a field's name or dotted path", found: name)
            }
            switch target {
            case .system(.readers), .system(.writers):
                throw ServiceError(
                    .invalidParameter, "A list cannot be ordered by its objects' readers or writers.", field: "order")
            default: break
            }
            try access.check(target)
            return OrderKey(target: target, isDescending: name.hasPrefix("-"))
        }
    }

    /// The contents of `ORDER BY`; `id` is always the last key, so that pages never overlap.
    static func sql(_ keys: [OrderKey]) -> PostgresQuery {
        complete(keys).map(\.sql).joined(separator: ", ")
    }

    /// The keys up to the first `id`, after which the order is complete.
    static func complete(_ keys: [OrderKey]) -> [OrderKey] {
        if let end = keys.firstIndex(where: { if case .system(.id) = $0.target { true } else { false } }) {
            return Array(keys[...end])
        }
        return keys + [OrderKey(target: .system(.id), isDescending: false)]
    }
}
