import Foundation
import MartletCore
import MartletPostgres

/// An app on one device.
struct Installation: Sendable {
    var id: UUID
    var platform: Platform
    /// Nil when the app has no token yet, the user turned messages off, or the push service reported the token as gone.
    var push: PushAddress?
    var tokenRegistered: Date?
    var userID: String?
    /// The session in which the user signed in here; nil if unknown.
    var sessionID: UUID?
    var appVersion, osVersion, deviceModel, locale, timeZone: String?
    var badge = 0
    var channels: [String] = []
    /// A JSON object.
    var attributes = JSONValue.object([])
    var created: Date
    var updated: Date
    /// When the app last contacted the server.
    var seen: Date

    init(id: UUID, platform: Platform, at time: Date) {
        self.id = id
        self.platform = platform
        (created, updated, seen) = (time, time, time)
    }

    static let columnCount = 22
    /// The columns that `init(_:)` reads from `notifications.installations AS i`.
    static let columns: PostgresQuery = """
        i.id, i.platform, i.service, i.is_sandbox, i.token, i.public_key, i.auth_secret, i.bundle_id, i.token_registered, i.user_id, i.app_version,
        i.os_version, i.device_model, i.locale, i.time_zone, i.badge, i.channels, i.attributes, i.created, i.updated, i.seen, i.session_id
        """

    init(_ row: PostgresRow) throws {
        id = try row.decode(0)
        platform = try row.word(1)
        if let token = try row.decode(4, as: String?.self) {
            push = PushAddress(
                service: try row.word(2), isSandbox: try row.decode(3), token: token, publicKey: try row.decode(5),
                authSecret: try row.decode(6),
                bundleID: try row.decode(7))
        }
        tokenRegistered = try row.decode(8)
        userID = try row.decode(9)
        appVersion = try row.decode(10)
        osVersion = try row.decode(11)
        deviceModel = try row.decode(12)
        locale = try row.decode(13)
        timeZone = try row.decode(14)
        badge = try row.decode(15)
        channels = try row.decode(16)
        attributes = try JSONValue(parsing: row.decode(17, as: PostgresJSON.self).bytes)
        created = try row.decode(18)
        updated = try row.decode(19)
        seen = try row.decode(20)
        sessionID = try row.decode(21)
    }

    /// The installation as clients see it, with only a hint of the token.
    var json: JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        var address = JSONValue.null
        if let push {
            var members: [JSONValue.Member] = [
                .init("service", .string(push.service.rawValue)), .init("token", .string(push.hint)),
            ]
            if push.service == .apns {
                members += [.init("sandbox", .bool(push.isSandbox)), .init("bundleId", text(push.bundleID))]
            }
            members.append(.init("registered", tokenRegistered.map { .time($0) } ?? .null))
            address = .object(members)
        }
        return .object([
            .init("id", .string(id.uuidString.lowercased())), .init("platform", .string(platform.rawValue)),
            .init("push", address),
            .init("user", text(userID)), .init("appVersion", text(appVersion)), .init("osVersion", text(osVersion)),
            .init("deviceModel", text(deviceModel)), .init("locale", text(locale)), .init("timeZone", text(timeZone)),
            .init("badge", .number(String(badge))), .init("channels", .array(channels.map { .string($0) })),
            .init("attributes", attributes),
            .init("created", .time(created)), .init("updated", .time(updated)), .init("seen", .time(seen)),
        ])
    }
}

extension JSONValue {
    /// RFC 3339 in UTC with milliseconds.
    static func time(_ date: Date) -> JSONValue {
        .string(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}
