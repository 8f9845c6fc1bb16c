import Foundation
import MartletCore
import MartletPush

extension MessageContent {
    /// The content as it is stored; `init(_:)` reads it again.
    var json: JSONValue {
        var members = texts.members
        func add(_ name: String, _ value: JSONValue?) {
            if let value { members.append(.init(name, value)) }
        }
        add("localized", Self.json(localized))
        add("variants", variants.isEmpty ? nil : .array(variants.map(Self.json)))
        switch badge {
        case .number(let number): add("badge", .number("\(number)"))
        case .increment: add("badge", .string("increment"))
        case nil: break
        }
        for (name, text) in [
            ("sound", sound), ("image", image), ("category", category), ("thread", thread), ("collapseId", collapseID),
        ] {
            add(name, text.map { .string($0) })
        }
        add("data", data.isEmpty ? nil : .object(data))
        add("silent", isSilent ? .bool(true) : nil)
        add("priority", priority.map { .string($0.rawValue) })
        add("pushType", pushType.map { .string($0.rawValue) })
        add("liveActivity", liveActivity?.json)
        add("interruptionLevel", interruptionLevel.map { .string($0.rawValue) })
        add("relevance", relevance.map { .number("\($0)") })
        add("ttl", timeToLiveInSeconds.map { .number("\($0)") })
        add("atMostOnce", atMostOnce ? .bool(true) : nil)
        return .object(members)
    }

    private static func json(_ localized: [LanguageTag: MessageTexts]) -> JSONValue? {
        guard !localized.isEmpty else { return nil }
        return .object(
            localized.sorted { $0.key.text < $1.key.text }.map { .init($0.key.text, .object($0.value.members)) })
    }

    private static func json(_ variant: MessageVariant) -> JSONValue {
        let named: [JSONValue.Member] = [
            .init("name", .string(variant.name)), .init("weight", .number("\(variant.weight)")),
        ]
        return .object(named + variant.texts.members + (json(variant.localized).map { [.init("localized", $0)] } ?? []))
    }
}

extension LiveActivityContent {
    var json: JSONValue {
        var members: [JSONValue.Member] = []
        switch event {
        case .start(let type, let attributes):
            members += [
                .init("event", .string("start")), .init("attributesType", .string(type)),
                .init("attributes", attributes),
            ]
        case .update: members.append(.init("event", .string("update")))
        case .end(let dismissal):
            members.append(.init("event", .string("end")))
            if let dismissal { members.append(.init("dismissal", .string(dismissal.rfc3339))) }
        }
        if let contentState { members.append(.init("contentState", contentState)) }
        if let staleDate { members.append(.init("stale", .string(staleDate.rfc3339))) }
        return .object(members)
    }
}
