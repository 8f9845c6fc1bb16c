import Foundation
import MartletCore

/// An event as `TBAnalytics` sends it: an object with `type`, `timeStamp`, `className`, `fileName`, `method`,
/// `configVersion` and `tags`. The tags describe the build, the system and the device. Other members are kept
/// unchanged.
struct TBAnalyticsEvent {
    /// The equivalent message in Segment's form.
    let message: [UInt8]

    /// Members that are not stored as properties.
    private static let excluded: Set<String> = [
        "_id", "type", "timeStamp", "configVersion", "created", "updated", "deleted", "_version",
    ]

    /// - Throws: `EventFault`.
    init(_ object: JSONValue, newID: String) throws {
        guard case .object(let members) = object else {
            throw EventFault(nil, "Expected a JSON object, found \(object.kind.phrase).")
        }
        let type = try Self.text(object, "type") ?? "Generic"
        let className = try Self.text(object, "className")
        for name in ["fileName", "method", "configVersion"] { _ = try Self.text(object, name) }
        switch object["tags"] {
        case nil, .null, .object: break
        case let tags?: throw EventFault("tags", "Expected an object, found \(tags.phrase).")
        }
        let isView = ["view", "openview", "viewopened"].contains(type.lowercased().filter { !" _-".contains($0) })
        var message: [JSONValue.Member] = [
            .init("messageId", .string(try Self.text(object, "_id") ?? newID)),
            .init("properties", .object(members.filter { !Self.excluded.contains($0.name) })),
            .init("context", Self.context(object)),
        ]
        // Some clients send the time as a tag. Other clients use this tag for something else.
        let tagged = object["tags"]?["timeStamp"]?.scalar.flatMap { EventTime.date($0) == nil ? nil : $0 }
        if let time = try Self.text(object, "timeStamp") ?? tagged { message.append(.init("timestamp", .string(time))) }
        if isView, let className {
            message += [.init("type", .string("screen")), .init("name", .string(className))]
        } else {
            message += [.init("type", .string("track")), .init("event", .string(type))]
        }
        self.message = Array(JSONValue.object(message).text.utf8)
    }

    private static func text(_ object: JSONValue, _ name: String) throws -> String? {
        switch object[name] {
        case nil, .null: return nil
        case .string(let text): return text.isEmpty ? nil : text
        case .number(let literal): return literal
        case let value?: throw EventFault(name, "Expected a string, found \(value.phrase).")
        }
    }

    /// The context built from the tags. A tag may have any of its usual names.
    private static func context(_ object: JSONValue) -> JSONValue {
        func tag(_ names: String...) -> JSONValue? {
            names.lazy.compactMap { object["tags"]?[$0] ?? object[$0] }.first { $0.scalar != nil }
        }
        func some(_ members: (String, JSONValue?)...) -> JSONValue {
            .object(members.compactMap { name, value in value.map { .init(name, $0) } })
        }
        return some(
            (
                "app",
                some(
                    ("version", tag("appVersion", "version", "buildVersion", "Build version")),
                    ("build", tag("build", "buildName", "Build name")))
            ),
            (
                "os",
                some(
                    ("name", tag("OSName", "osName", "systemName")),
                    ("version", tag("OSVersion", "osVersion", "OS version", "systemVersion")))
            ),
            (
                "device",
                some(
                    ("manufacturer", tag("deviceMake", "make", "Device make")),
                    ("model", tag("deviceModel", "model", "Device model")))
            ),
            ("locale", tag("locale")), ("configVersion", tag("configVersion")?.scalar.map { JSONValue.string($0) }))
    }
}
