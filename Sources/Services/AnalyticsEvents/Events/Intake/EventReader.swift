import AnalyticsShared
import Foundation
import MartletCore
import MartletPostgres

/// Converts the messages of one request to events.
struct EventReader {
    static let maximumMessageInBytes = 32 << 10

    /// What all messages of a request share.
    struct Origin: Sendable {
        var space: Space
        var settings: SpaceSettings
        /// When the request arrived.
        var received: Date
        /// Maximum age of a message.
        var maximumAge: TimeInterval
        /// The signed-in user, if any; it overrides the user id in messages.
        var userID: String?
        /// The device id from the request's header.
        var deviceID: String?
        /// Distinguishes visitors who send no id, by address and agent. Never stored.
        var visitor: String
        /// The salt of the day.
        var salt: [UInt8]
        var dimensions: Dimensions
        /// Whether the sender of the request opts out of tracking.
        var isUntracked = false
        /// Whether the request comes from the app's own server, which is trusted to link users.
        var isTrusted = false
    }

    let origin: Origin
    /// How far the client's clock is behind the server's, plus the time the request was under way.
    let lag: TimeInterval
    /// How much earlier than its corrected time an event may have happened: an hour if the request has `sentAt`,
    /// otherwise `maximumClockSkew`.
    let slack: TimeInterval
    /// The context of the previous message. Messages of one device mostly have the same context, byte for byte.
    var previousContext: (text: [UInt8], context: Context)?

    /// - Parameter sentAt: When the client sent the request, by its own clock.
    init(_ origin: Origin, sentAt: Date?) {
        self.origin = origin
        lag = sentAt.map { origin.received.timeIntervalSince($0) } ?? 0
        slack = sentAt == nil ? Self.maximumClockSkew : 3_600
    }

    /// - Parameter kind: The kind named in the path; nil if the message must name it.
    /// - Returns: nil if the person has opted out.
    mutating func event(_ bytes: UnsafeBufferPointer<UInt8>, _ kind: EventKind?) throws -> IncomingEvent? {
        guard bytes.count <= Self.maximumMessageInBytes else {
            throw EventFault(
                nil, "Expected a message of at most \(Self.maximumMessageInBytes) bytes, found \(bytes.count).")
        }
        let fields = try Self.fields(bytes)
        guard let kind = try kind ?? fields.string("type", upTo: 64).flatMap({ EventKind(name: $0) }) else {
            throw EventFault("type", "Expected one of \(EventKind.allCases.map(\.name).joined(separator: ", ")).")
        }
        let context = try self.context(fields)
        let isStrict = origin.settings.privacy == .strict || context.isUntracked
        let time = try self.time(of: fields)
        let ids = try Ids(fields, origin)
        var event = IncomingEvent(
            kind: kind, name: try name(of: fields, kind), at: time.at, earliest: time.earliest,
            key: try key(of: fields),
            subject: subject(ids, isStrict: isStrict), dimensions: context.dimensions)
        switch kind {
        case .track, .screen, .page: event.properties = try properties(of: fields)
        case .group: event.properties = try group(fields)
        case .identify:
            guard ids.user != nil || ids.device != nil else {
                throw EventFault("userId", "Either userId or anonymousId is required.")
            }
            event.traits = try fields.object("traits") ?? fields.value("context")?["traits"]?.objectText
        case .alias: event.aliases = try previousPersons(fields, ids)
        }
        if ids.user != nil, ids.device != nil { event.aliases.append(event.subject.device) }
        if isStrict { (event.traits, event.aliases) = (nil, []) }
        return context.hasOptedOut ? nil : event
    }

    private static func fields(_ bytes: UnsafeBufferPointer<UInt8>) throws -> MessageFields {
        do throws(JSONError) {
            return try MessageFields(bytes)
        } catch {
            throw EventFault(nil, error.isShape ? "Expected a message as a JSON object." : "\(error)")
        }
    }

    private struct Ids {
        var user: String?
        var device: String?

        init(_ fields: MessageFields, _ origin: Origin) throws {
            user = try origin.userID ?? fields.id("userId")
            device = try fields.id("anonymousId") ?? origin.deviceID
        }
    }

    /// - Parameter isStrict: Whether the person must not be recognized on another day.
    private func subject(_ ids: Ids, isStrict: Bool) -> IncomingEvent.Subject {
        var subject = IncomingEvent.Subject()
        if let user = ids.user { subject.account = Person.account(user, in: origin.space) }
        if let device = ids.device { subject.device = Person.device(device, in: origin.space) }
        let named = subject.account != Person.nobody ? subject.account : subject.device
        switch (isStrict, named) {
        case (_, Person.nobody): subject.person = Person.visitor(origin.visitor, salt: origin.salt, in: origin.space)
        case (false, _): subject.person = named
        case (true, _): subject.person = Person.visitor("\(named)", salt: origin.salt, in: origin.space)
        }
        return subject
    }

    /// A random key if the message has no id: it cannot be recognized when it is sent again.
    private func key(of fields: MessageFields) throws -> Int64 {
        try fields.id("messageId").map { Person.key(ofMessage: $0, in: origin.space) }
            ?? Int64.random(in: .min ... .max)
    }

    private func name(of fields: MessageFields, _ kind: EventKind) throws -> String? {
        switch kind {
        case .track:
            guard let name = try fields.string("event", upTo: TermKind.maximumLengthInBytes) else {
                throw EventFault("event", "This field is required.")
            }
            return name
        case .screen, .page:
            return try fields.string("name", upTo: TermKind.maximumLengthInBytes) ?? fields.string(
                "category", upTo: TermKind.maximumLengthInBytes)
                ?? fields.value("properties")?["path"]?.scalar?.cut
        case .identify, .group, .alias: return nil
        }
    }

    private func properties(of fields: MessageFields) throws -> String {
        let properties = try fields.object("properties") ?? "{}"
        // Properties without content are stored as `{}`.
        return properties.utf8.count <= 4 && !properties.utf8.contains(UInt8(ascii: "\"")) ? "{}" : properties
    }

    private func group(_ fields: MessageFields) throws -> String {
        guard let id = try fields.id("groupId") else { throw EventFault("groupId", "This field is required.") }
        return #"{"groupId":\#(JSONValue.quote(id)),"traits":\#(try fields.object("traits") ?? "{}")}"#
    }

    /// The persons under which `userId` was counted before: a device or another user.
    ///
    /// A previous id that has the form of a Martlet user id counts as a user only if the app's own server sends it.
    /// Otherwise a client could link any user to its own and read that user's data.
    private func previousPersons(_ fields: MessageFields, _ ids: Ids) throws -> [Int64] {
        guard let previous = try fields.id("previousId") else {
            throw EventFault("previousId", "This field is required.")
        }
        guard let user = ids.user else { throw EventFault("userId", "This field is required.") }
        guard previous != user else { return [] }
        let device = Person.device(previous, in: origin.space)
        return origin.isTrusted || UUID(uuidString: previous) == nil
            ? [device, Person.account(previous, in: origin.space)] : [device]
    }
}
