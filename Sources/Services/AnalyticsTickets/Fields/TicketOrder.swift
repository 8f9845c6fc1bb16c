import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The order of a list of tickets. Equal tickets are ordered by number.
struct TicketOrder: Sendable {
    private enum Key: String, CaseIterable {
        case number, created, updated, priority, position
    }

    /// The end of a page.
    struct Cursor: Sendable {
        fileprivate var value: String
        fileprivate var number: Int
    }

    private let key: Key
    private let isDescending: Bool

    /// - Parameter text: The name of a key, with a leading `-` for descending order.
    /// - Throws: `invalid-parameter`.
    init(_ text: Substring) throws {
        isDescending = text.hasPrefix("-")
        guard let key = Key(rawValue: String(isDescending ? text.dropFirst() : text)) else {
            throw ServiceError(
                .invalidParameter,
                "Expected one of \(Key.allCases.map(\.rawValue).joined(separator: ", ")), optionally with a leading -.",
                field: "sort")
        }
        self.key = key
    }

    var text: String { (isDescending ? "-" : "") + key.rawValue }

    /// The sort expression for a row `t`.
    private var expression: PostgresQuery {
        switch key {
        // Not cast, so that the index can be used.
        case .number: "t.number"
        case .created: "(extract(epoch FROM t.created) * 1000000)::bigint"
        case .updated: "(extract(epoch FROM t.updated) * 1000000)::bigint"
        case .priority: "array_position(ARRAY['low', 'medium', 'high', 'urgent'], t.priority)::bigint"
        case .position: "t.position"
        }
    }

    var clause: PostgresQuery {
        isDescending ? "\(expression) DESC, t.number DESC" : "\(expression), t.number"
    }

    /// Selects the rows after a cursor.
    func condition(after cursor: Cursor) throws -> PostgresQuery {
        let value: PostgresQuery
        if key == .position {
            value = "\(cursor.value)"
        } else {
            guard let number = Int64(cursor.value) else { throw Self.refusal }
            value = "\(number)"
        }
        return isDescending
            ? "(\(expression), t.number) < (\(value), \(cursor.number))"
            : "(\(expression), t.number) > (\(value), \(cursor.number))"
    }

    /// The sort value of a row `t`, as text for `cursorText(_:_:)`.
    var valueText: PostgresQuery { "(\(expression))::text" }

    // MARK: Cursors

    private static let refusal = ServiceError(
        .invalidParameter, "This cursor comes from a list in a different order.", field: "cursor")

    func cursorText(_ value: String, _ number: Int) -> String {
        Base64URL.encode(Array(JSONValue.array([.string(text), .string(value), .number(String(number))]).text.utf8))
    }

    /// - Throws: `invalid-parameter` if the cursor comes from a list in another order.
    func cursor(parsing cursor: Substring) throws -> Cursor {
        guard cursor.utf8.count <= 1_000, let bytes = Base64URL.decode(String(cursor)),
            let json = try? JSONValue(parsing: bytes),
            case .array(let parts) = json, parts.count == 3, parts[0] == .string(text),
            case .string(let value) = parts[1],
            case .number(let literal) = parts[2], let number = Int32(literal),
            key != .position || FractionalKey(value) != nil
        else { throw Self.refusal }
        return Cursor(value: value, number: Int(number))
    }
}
