import MartletAPI
import MartletCore

/// A position in a list ordered by descending value, then descending id. Encoded as base64url of `order.value.id`.
struct ListCursor: Sendable, Equatable {
    /// Up to the year 9999 in microseconds: PostgreSQL cannot store much later times, and no count gets that high.
    private static let values = 0..<Int64(253_402_300_800_000_000)

    var order: String
    var value: Int64
    var id: Int64

    init(order: String, value: Int64, id: Int64) {
        self.order = order
        self.value = value
        self.id = id
    }

    /// - Throws: `invalid-parameter` if the cursor does not belong to a list in this order.
    init?(_ parameter: Substring?, order: String) throws {
        guard let parameter else { return nil }
        let parts =
            (parameter.utf8.count <= 200 ? Base64URL.decode(parameter) : nil).map {
                String(decoding: $0, as: UTF8.self).split(separator: ".")
            } ?? []
        guard parts.count == 3, parts[0] == order, let value = Int64(parts[1]), Self.values.contains(value),
            let id = Int64(parts[2])
        else {
            throw ServiceError(
                .invalidParameter, "This cursor does not belong to a list in this order.", field: "cursor")
        }
        self.init(order: order, value: value, id: id)
    }

    var text: String { Base64URL.encode("\(order).\(value).\(id)".utf8) }
}
