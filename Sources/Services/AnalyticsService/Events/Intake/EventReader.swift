import Foundation
import MartletCore
import MartletPostgres

/// Makes events of the messages of one request.
struct EventReader {
    static let maximumMessageInBytes = 32 << 10

    /// Who and when, as far as the request as a whole says it.
    struct Origin: Sendable {
        var space: Space
        var settings: SpaceSettings
        /// When the request came.
        var received: Date
        /// How far back a message may lie.
        var maximumAge: TimeInterval
        /// The user who is signed in; what messages say of a user does not count then.
        var userID: String?
        /// What a header says of the device.
        var deviceID: String?
        /// Where it comes from, for those who give no id. Never stored.
        var visitor: String
        /// Today's.
        var salt: [UInt8]
        var dimensions: Dimensions
        /// Whether the request says that whoever sends it is not to be followed.
        var isUntracked = false
        /// Whether it is the app's own server's, which knows who is whose.
        var isTrusted = false
    }

    let origin: Origin
    /// What the client's clock lags behind ours, with the request's way to us.
    let lag: TimeInterval
    /// How far that clock may still be ahead, so that an event seems to have happened later than it came: an hour where
    /// `sentAt` says what it shows.
    let slack: TimeInterval
    /// Messages of one device mostly have the same context, byte by byte.
    var known: (text: [UInt8], context: Context)?

    /// - Parameter sentAt: when the client sent the request, by its own clock.
    init(_ origin: Origin, sentAt: Date?) {
        self.origin = origin
        lag = sentAt.map { origin.received.timeIntervalSince($0) } ?? 0
        slack = sentAt == nil ? Self.farthestAhead : 3_600
    }

    /// - Parameter kind: what the path says it is; nil: the message has to say it.
    /// - Returns: nil when the person has refused to be counted.
    mutating func event(_ bytes: UnsafeBufferPointer<UInt8>, _ kind: EventKind?) throws -> IncomingEvent? {
        guard bytes.count <= Self.maximumMessageInBytes else {
            throw EventFault(nil, "A message may have at most \(Self.maximumMessageInBytes) bytes.")
        }
        let fields = try Self.fields(bytes)
        guard let kind = try kind ?? fields.string("type", upTo: 64).flatMap({ EventKind(name: $0) }) else {
            throw EventFault("type", "This must be one of \(EventKind.allCases.map(\.name).joined(separator: ", ")).")
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
        case .alias: event.aliases = try previous(fields, ids)
        }
        if ids.user != nil, ids.device != nil { event.aliases.append(event.subject.device) }
        if isStrict { (event.traits, event.aliases) = (nil, []) }
        return context.isRefused ? nil : event
    }

    private static func fields(_ bytes: UnsafeBufferPointer<UInt8>) throws -> MessageFields {
        do throws(JSONError) {
            return try MessageFields(bytes)
        } catch {
            throw EventFault(nil, error.isShape ? "A message must be an object." : "\(error)")
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

    /// - Parameter isStrict: whether they are to be somebody else tomorrow.
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

    /// A message without an id cannot be told from another one.
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
        // An event of which nothing else is said.
        return properties.utf8.count <= 4 && !properties.utf8.contains(UInt8(ascii: "\"")) ? "{}" : properties
    }

    private func group(_ fields: MessageFields) throws -> String {
        guard let id = try fields.id("groupId") else { throw EventFault("groupId", "This field is required.") }
        return #"{"groupId":\#(JSONValue.quote(id)),"traits":\#(try fields.object("traits") ?? "{}")}"#
    }

    /// Whom the one with `userId` was known as: a device or another user.
    ///
    /// What has the form of a user's id of ours is another user only when the app's own server says so: whoever could
    /// take a user over would be handed out what that one did.
    private func previous(_ fields: MessageFields, _ ids: Ids) throws -> [Int64] {
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
