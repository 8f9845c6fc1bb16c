import MartletAPI
import MartletCore
import MartletHTTP

/// Where a page ended, in a list from the greatest value down, and of equal values from the greatest id down. On the wire base64url of `order.value.id`.
struct ListCursor: Sendable, Equatable {
    /// Until the year 9999, in microseconds: PostgreSQL has no time for much more, and no count is as high.
    private static let values = 0..<Int64(253_402_300_800_000_000)

    var order: String
    var value: Int64
    var id: Int64

    init(order: String, value: Int64, id: Int64) {
        self.order = order
        self.value = value
        self.id = id
    }

    /// - Throws: `invalid-parameter` for a cursor that is not of a list in this order.
    init?(_ parameter: Substring?, order: String) throws {
        guard let parameter else { return nil }
        let parts = (parameter.utf8.count <= 200 ? Base64URL.decode(parameter) : nil).map { String(decoding: $0, as: UTF8.self).split(separator: ".") } ?? []
        guard parts.count == 3, parts[0] == order, let value = Int64(parts[1]), Self.values.contains(value), let id = Int64(parts[2]) else {
            throw HTTPProblem(.invalidParameter, "This cursor is not of a list in this order.", field: "cursor")
        }
        self.init(order: order, value: value, id: id)
    }

    var text: String { Base64URL.encode("\(order).\(value).\(id)".utf8) }
}
