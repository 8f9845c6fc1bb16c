import MartletAPI
import MartletCore
import MartletHTTP

/// The trigger of a rule. As JSON one of `{"collection":"Sightings","events":["created"]}`, `{"every":{"minutes":15}}`,
/// `{"cron":"0 8 * * 1-5","timeZone":"Europe/Berlin"}` and `{"alert":"crash"}`.
enum RuleTrigger: Sendable, Equatable {
    case change(collection: String, events: Set<Event>)
    case schedule(Schedule)
    /// Crash alerts whose target is the app's notification rules.
    case alert

    enum Event: String, Sendable, CaseIterable {
        case created, updated, deleted
    }

    /// - Throws: `invalid-body` that names the field.
    init(_ value: JSONValue?) throws {
        guard let value, value != .null else {
            throw ServiceError(.invalidBody, "This field is required.", field: "when")
        }
        guard let fields = try? BodyFields(value, ["collection", "events", "every", "cron", "timeZone", "alert"]) else {
            throw Self.refusal
        }
        switch (fields["collection"], fields["every"], fields["cron"], fields["alert"]) {
        case (.string(let collection), nil, nil, nil):
            self = try .change(collection: Self.checked(collection), events: Self.events(fields))
        case (nil, let every?, nil, nil): self = .schedule(try Schedule(every: every))
        case (nil, nil, .string(let text), nil):
            self = .schedule(try Schedule(cron: text, timeZone: try fields.string("timeZone")))
        case (nil, nil, nil, .string("crash")): self = .alert
        default: throw Self.refusal
        }
    }

    private static let refusal = ServiceError(
        .invalidBody,
        #"Expected one of {"collection","events"}, {"every":{"minutes"}}, {"cron","timeZone"} and {"alert":"crash"}."#,
        field: "when")

    private static func events(_ fields: BodyFields) throws -> Set<Event> {
        guard let names = try fields.strings("events", upTo: Event.allCases.count), !names.isEmpty else {
            throw ServiceError(
                .invalidBody, "Expected an array of created, updated and deleted.", field: "when.events")
        }
        return Set(
            try names.map { name in
                guard let event = Event(rawValue: name) else {
                    throw ServiceError.unexpectedMember(
                        "when.events", expected: "created, updated or deleted", found: name)
                }
                return event
            })
    }

    /// Validates a collection name by the rules of storage.
    static func checked(_ collection: String, field: String = "when.collection") throws -> String {
        let isWellFormed = collection.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): index > 0
            default: false
            }
        }
        guard isWellFormed, (1...63).contains(collection.utf8.count) else {
            throw ServiceError(
                .invalidBody,
                "Expected a collection name: a letter, followed by at most 62 letters, digits, _ or -.",
                field: field)
        }
        return collection
    }

    var isOnChanges: Bool { if case .change = self { true } else { false } }

    /// The collection whose changes trigger the rule; nil for other triggers.
    var collection: String? { if case .change(let collection, _) = self { collection } else { nil } }
}
