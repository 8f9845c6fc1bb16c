import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// A notification in the original TBAnalytics format: user or device, title, message, badge.
///
/// The original library calls `setUserID(11)`, `setTitle` and `setMessage`, and names a device by its APNs token. Here
/// users and devices may also be lists.
struct TBAnalyticsNotification: Sendable {
    /// The template whose client rule lets users send it; see `ClientRules`.
    static let template = "TBNotification"
    private static let maximumRecipients = 100
    private static let reservedNames: Set<String> = ["_id", "created", "updated", "deleted", "_version"]
    private static let userNames = ["userID", "userId", "user"]
    private static let deviceNames = ["deviceID", "deviceId", "device", "UUID", "uuid"]
    private static let badgeNames = ["badge", "badgeNumber"]

    /// Chosen by the sender. A notification with a known id is not sent again.
    let id: String?
    let users: [String]
    /// Installation ids or push tokens.
    let devices: [String]
    let title: String?
    let message: String?
    let badge: Int?
    /// The members of the request, returned in the answer.
    let members: [JSONValue.Member]

    /// - Throws: `invalid-body` that names the member.
    init(_ json: JSONValue) throws {
        let names = Self.reservedNames.union(Self.userNames).union(Self.deviceNames).union(Self.badgeNames).union([
            "title", "message",
        ])
        let fields = try BodyFields(json, names)
        guard case .object(let members) = json else { throw ServiceError(.invalidBody) }
        self.members = members.filter { !Self.reservedNames.contains($0.name) }
        id = try fields.text("_id", upTo: 64)
        users = try Self.recipients(fields, Self.userNames)
        devices = try Self.recipients(fields, Self.deviceNames)
        guard users.isEmpty != devices.isEmpty else {
            throw ServiceError(.invalidBody, "Name either users or devices, not both.", field: "userID")
        }
        title = try fields.text("title", upTo: 1_000)
        message = try fields.text("message", upTo: 4_096)
        badge = try Self.badgeNames.lazy.compactMap { try fields.integer($0, in: 0...99_999) }.first
        guard title != nil || message != nil || badge != nil else {
            throw ServiceError(.invalidBody, "A title, a message or a badge is required.", field: "message")
        }
    }

    private static func recipients(_ fields: BodyFields, _ names: [String]) throws -> [String] {
        guard let name = names.first(where: { fields[$0] != nil && fields[$0] != .null }), let value = fields[name]
        else { return [] }
        let values: [JSONValue] = if case .array(let elements) = value { elements } else { [value] }
        guard (1...maximumRecipients).contains(values.count) else {
            throw ServiceError(.invalidBody, "Expected 1 to \(maximumRecipients) recipients.", field: name)
        }
        return try values.map { value in
            switch value {
            case .string(let text)
            where (1...Audience.maximumNameLength).contains(text.utf8.count) && !text.utf8.contains(0): return text
            case .number(let literal): return literal
            default: throw ServiceError(.invalidBody, "Expected an id or a list of ids.", field: name)
            }
        }
    }

    /// The content of the push message.
    var content: MessageContent {
        var content = MessageContent(MessageTexts(title: title, body: message))
        content.badge = badge.map { .number($0) }
        return content
    }

    /// The variables for the app's template.
    var variables: JSONValue {
        .object([
            .init("title", title.map { .string($0) } ?? .null), .init("message", message.map { .string($0) } ?? .null),
            .init("badge", badge.map { .number("\($0)") } ?? .null),
        ])
    }
}

extension Message {
    /// The message in the original TBAnalytics format, with its current state.
    var tbAnalyticsJSON: JSONValue {
        let texts = content.texts(variant: 0, in: nil)
        var members: [JSONValue.Member] = [
            .init("_id", .string(id.uuidString.lowercased())), .init("created", .string(created.rfc3339)),
            .init("updated", .string((finished ?? created).rfc3339)), .init("deleted", .null),
            .init("_version", .number("1")),
        ]
        func add(_ name: String, _ list: [String]?) {
            guard let list, let first = list.first else { return }
            members.append(.init(name, list.count == 1 ? .string(first) : .array(list.map { .string($0) })))
        }
        add("userID", audience.users)
        add("deviceID", audience.installations?.map { $0.uuidString.lowercased() })
        members.append(.init("title", texts.title.map { .string($0) } ?? .null))
        members.append(.init("message", texts.body.map { .string($0) } ?? .null))
        if case .number(let number)? = content.badge { members.append(.init("badge", .number("\(number)"))) }
        members.append(.init("state", .string(state.rawValue)))
        return .object(members)
    }
}
