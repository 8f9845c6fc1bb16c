import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The end of a page: the values by which its last object is ordered.
///
/// The wire form is base64url of `["order",[value],…]`; an absent value is `[]`. It only contains values that the page
/// has shown or revealed by its order, and is validated like any other parameter.
struct Cursor: Sendable {
    static let maximumSizeInBytes = 4_096

    private let values: [JSONValue?]

    /// - Throws: `invalid-parameter` for a cursor of a list with a different order.
    init(_ text: Substring, order keys: [OrderKey]) throws {
        guard text.utf8.count <= Self.maximumSizeInBytes, let bytes = Base64URL.decode(String(text)),
            let json = try? JSONValue(parsing: bytes),
            case .array(let elements) = json, elements.first == .string(Self.name(keys)),
            elements.count == keys.count + 1
        else { throw Self.refusal }
        values = try elements.dropFirst().map { element in
            guard case .array(let value) = element, value.count <= 1 else { throw Self.refusal }
            return value.first
        }
        for (key, value) in zip(keys, values) {
            guard case .system = key.target, let value else { continue }
            do { _ = try key.target.equality(value) } catch { throw Self.refusal }
        }
    }

    private static let refusal = ServiceError(
        .invalidParameter, "Expected a cursor of a list in this order.", field: "cursor")

    private static func name(_ keys: [OrderKey]) -> String { keys.map(\.text).joined(separator: ",") }

    /// The text for clients, made from the result of `position`.
    static func text(_ position: String, order keys: [OrderKey]) -> String {
        Base64URL.encode(Array(("[" + JSONValue.quote(name(keys)) + "," + position.dropFirst()).utf8))
    }

    /// Selects the position of a row, as a JSON array of `[value]` or `[]`.
    static func position(_ keys: [OrderKey]) -> PostgresQuery {
        let values = keys.map { key -> PostgresQuery in
            "CASE WHEN \(key.target.expression) IS NULL THEN '[]'::jsonb ELSE jsonb_build_array(\(key.target.json)) END"
        }
        return "jsonb_build_array(\(values.joined(separator: ", ")))::text"
    }

    /// The rows after the cursor, as mutually exclusive conditions. Each fixes all of its keys except the last, so that
    /// an index on the order can read its rows in order.
    ///
    /// PostgreSQL sorts NULL last, or first in descending order.
    func branches(_ keys: [OrderKey]) throws -> [PostgresQuery] {
        var branches: [PostgresQuery] = []
        for (index, (key, value)) in zip(keys, values).enumerated() {
            let fixed = try zip(keys, values).prefix(index).map { try Self.equal($0, $1) }
            for condition in try Self.after(key, value) {
                branches.append((fixed + [condition]).joined(separator: " AND "))
            }
        }
        return branches
    }

    private static func equal(_ key: OrderKey, _ value: JSONValue?) throws -> PostgresQuery {
        guard let value else { return "\(key.target.expression) IS NULL" }
        return try compare(key, "=", value)
    }

    private static func after(_ key: OrderKey, _ value: JSONValue?) throws -> [PostgresQuery] {
        let expression = key.target.expression
        switch (value, key.isDescending) {
        case (nil, true): return ["\(expression) IS NOT NULL"]
        case (nil, false): return []
        case (let value?, true): return [try compare(key, "<", value)]
        case (let value?, false):
            let isNeverNull = if case .system(let field) = key.target { field != .deleted } else { false }
            return [try compare(key, ">", value)] + (isNeverNull ? [] : ["\(expression) IS NULL"])
        }
    }

    /// Compares in the order of `jsonb`, across types, as `ORDER BY` does.
    private static func compare(_ key: OrderKey, _ sign: StaticString, _ value: JSONValue) throws -> PostgresQuery {
        guard case .document(let path) = key.target else { return try key.target.comparison(sign, value) }
        return "\(path.expression) \(unescaped: sign) \(PostgresJSON(value.text))"
    }
}
