import AnalyticsShared
import Foundation
import MartletCore
import MartletPostgres
import MartletSentry

extension DigestedReport {
    init(_ event: Event, _ grouping: Grouping, at: Date, received: Date, space: Space, awaited: [String] = []) {
        self.space = space
        self.received = received
        self.at = at
        self.grouping = grouping
        self.awaited = awaited
        eventID = event.id
        kind = event.isCrash ? .crash : event.exceptions.isEmpty ? .message : .error
        level = event.severity
        isHandled = !event.exceptions.contains { $0.isHandled == false }
        platform = event.platform
        release = event.release.map(ReleaseName.init)
        stage = event.stage
        os = event.os
        device = event.device
        configuration = event.configuration
        variants = event.variants
        message = (event.message.isEmpty ? grouping.title : event.message).cut(toBytes: 1_000)
        person = event.person.map { Person.account($0, in: space) } ?? Person.nobody
        tags = Self.tags(event)
        content = Self.content(event, grouping).text
    }

    /// A report that could not be parsed, with the beginning of its text.
    init(broken raw: String, because reason: String, eventID: UUID, received: Date, space: Space) {
        self.space = space
        self.received = received
        self.eventID = eventID
        at = received
        kind = .broken
        level = .error
        isHandled = true
        platform = "other"
        release = nil
        (stage, os, device, configuration, variants) = ("", "", "", "", "")
        message = reason.cut(toBytes: 1_000)
        person = 0
        tags = [Event.Tag(key: "level", value: "error")]
        grouping = Grouping(broken: reason)
        awaited = []
        content =
            JSONValue.object([
                .init("event_id", .string(eventID.eventID)), .init("level", .string("error")),
                .init("raw", .string(raw)),
                .init("martlet", Self.martlet(grouping, [reason])),
            ]).text
    }

    private static func content(_ event: Event, _ grouping: Grouping) -> JSONValue {
        guard case .object(let members) = event.content else { return event.content }
        return .object(members + [.init("martlet", martlet(grouping, event.problems))])
    }

    private static func martlet(_ grouping: Grouping, _ problems: [String]) -> JSONValue {
        func list(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0.cut(toBytes: 500)) }) }
        return .object([
            .init(
                "grouping",
                .object([
                    .init("version", .number("\(Grouping.version)")), .init("byPlace", .bool(grouping.isByPlace)),
                    .init("app", list(grouping.appParts)),
                    .init("system", list(grouping.systemParts)),
                ])),
            .init("problems", list(problems)),
        ])
    }

    /// The client's tags, followed by ours where the client has none of that name.
    private static func tags(_ event: Event) -> [Event.Tag] {
        let own = [
            ("level", event.severity.name), ("environment", event.stage), ("release", event.release ?? ""),
            ("os", event.os), ("device", event.device),
            ("handled", event.exceptions.contains { $0.isHandled == false } ? "no" : "yes"),
            ("martlet.config", event.configuration),
            ("martlet.variants", event.variants),
        ]
        let given = Array(event.tags.prefix(50))
        return given
            + own.filter { tag in !tag.1.isEmpty && !given.contains { $0.key == tag.0 } }.map {
                Event.Tag(key: $0.0, value: $0.1)
            }
    }
}
