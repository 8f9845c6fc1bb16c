import MartletAPI
import MartletCore
import MartletHTTP

/// Where an alert goes. As JSON `{"type":"webhook","url":"…"}`, or `{"type":"notification"}`: to the app's notification rules on alerts.
enum AlertAddress: Sendable, Equatable {
    case webhook(url: String)
    case notification

    /// - Throws: `invalid-body` naming the field.
    init(_ value: JSONValue?) throws {
        guard let value, value != .null else { throw HTTPProblem(.invalidBody, "This field is required.", field: "target") }
        guard let fields = try? BodyFields(value, ["type", "url"]) else { throw Self.refusal }
        switch (try fields.string("type"), try fields.string("url")) {
        case ("webhook", let url?): self = .webhook(url: url)
        case ("notification", nil): self = .notification
        default: throw Self.refusal
        }
    }

    private static let refusal = HTTPProblem(
        .invalidBody, #"It is {"type":"webhook","url":"…"} or {"type":"notification"}."#, field: "target")

    var json: JSONValue {
        switch self {
        case .webhook(let url): .object([.init("type", .string("webhook")), .init("url", .string(url))])
        case .notification: .object([.init("type", .string("notification"))])
        }
    }
}
