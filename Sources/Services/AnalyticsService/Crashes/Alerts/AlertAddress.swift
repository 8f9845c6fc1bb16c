import MartletAPI
import MartletCore
import MartletHTTP

/// Where an alert goes. As JSON `{"type":"webhook","url":"…"}`.
enum AlertAddress: Sendable, Equatable {
    case webhook(url: String)

    /// - Throws: `invalid-body` naming the field.
    init(_ value: JSONValue?) throws {
        guard let value, value != .null else { throw HTTPProblem(.invalidBody, "This field is required.", field: "target") }
        guard let fields = try? BodyFields(value, ["type", "url"]), try fields.string("type") == "webhook", let url = try fields.string("url") else {
            throw HTTPProblem(.invalidBody, #"It is {"type":"webhook","url":"…"}."#, field: "target")
        }
        self = .webhook(url: url)
    }

    var json: JSONValue {
        switch self {
        case .webhook(let url): .object([.init("type", .string("webhook")), .init("url", .string(url))])
        }
    }

    var url: String {
        switch self {
        case .webhook(let url): url
        }
    }
}
