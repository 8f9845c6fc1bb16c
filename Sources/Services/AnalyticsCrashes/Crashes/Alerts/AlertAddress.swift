import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// Where an alert is delivered. As JSON: `{"type":"webhook","url":"…"}`; `{"type":"mail","staff":["<id>",…]}`, one mail
/// per staff member; or `{"type":"notification"}`, which triggers the app's notification rules for alerts.
enum AlertAddress: Sendable, Equatable {
    /// Maximum number of recipients of one alert.
    static let maximumStaff = 20

    case webhook(url: String)
    case mail(staff: [UUID])
    case notification

    /// - Throws: `invalid-body` naming the field.
    init(_ value: JSONValue?) throws {
        guard let value, value != .null else {
            throw ServiceError(.invalidBody, "This field is required.", field: "target")
        }
        guard let fields = try? BodyFields(value, ["type", "url", "staff"]) else { throw Self.refusal }
        switch (try fields.string("type"), try fields.string("url"), fields["staff"]) {
        case ("webhook", let url?, nil): self = .webhook(url: url)
        case ("notification", nil, nil): self = .notification
        case ("mail", nil, .array(let elements)?): self = .mail(staff: try Self.staff(elements))
        default: throw Self.refusal
        }
    }

    private static func staff(_ elements: [JSONValue]) throws -> [UUID] {
        let ids = elements.compactMap { if case .string(let text) = $0 { UUID(uuidString: text) } else { nil } }
        guard ids.count == elements.count, (1...maximumStaff).contains(ids.count), Set(ids).count == ids.count else {
            throw ServiceError(
                .invalidBody, "Expected 1 to \(maximumStaff) ids of staff members, without duplicates.",
                field: "target.staff")
        }
        return ids
    }

    private static let refusal = ServiceError(
        .invalidBody,
        #"Expected {"type":"webhook","url":"…"}, {"type":"mail","staff":["<id>"]} or {"type":"notification"}."#,
        field: "target")

    var json: JSONValue {
        switch self {
        case .webhook(let url): .object([.init("type", .string("webhook")), .init("url", .string(url))])
        case .mail(let staff):
            .object([
                .init("type", .string("mail")),
                .init("staff", .array(staff.map { .string($0.uuidString.lowercased()) })),
            ])
        case .notification: .object([.init("type", .string("notification"))])
        }
    }
}
