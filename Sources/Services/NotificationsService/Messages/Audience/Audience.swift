import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// Selects the installations that a message is for: those that meet all given criteria.
///
///     {"installations":[…],"users":[…],"channels":[…],"platforms":[…],"segment":"…","where":{…},
///      "everyone":true,"except":{"users":[…]}}
///
/// An installation matches a list if it matches one element. An audience without other criteria must state `everyone`,
/// so that a forgotten criterion does not address all users.
struct Audience: Sendable, Equatable {
    static let maximumInstallations = 1_000
    static let maximumUsers = 1_000
    static let maximumChannels = 100
    /// The limit for excluded users. A rule's message to channels excludes the users whom the rule excludes, those who
    /// have blocked the actor, and those to whom the rule also sends directly: up to 10,000 of each.
    static let maximumExceptUsers = 30_000
    /// The maximum size of a channel name or user id, in bytes.
    static let maximumNameLength = 200

    var isEveryone = false
    var installations: [UUID]?
    var users: [String]?
    /// Matches installations in at least one of the channels.
    var channels: [String]?
    var platforms: [Platform]?
    /// The name of a stored segment.
    var segment: String?
    /// A condition on `InstallationFacts`, in the MongoDB-like syntax of flags.
    var condition: JSONValue?
    /// Users who do not get the message even if they match.
    var exceptUsers: [String] = []

    static let everyone = Audience(isEveryone: true)

    static func users(_ ids: [String], except: [String] = []) -> Audience { Audience(users: ids, exceptUsers: except) }

    static func installations(_ ids: [UUID]) -> Audience { Audience(installations: ids) }

    /// Whether the audience names so few recipients that they can be looked up directly.
    var isDirect: Bool {
        segment == nil && condition == nil && (installations?.count ?? users?.count ?? .max) <= Self.maximumDirect
    }

    static let maximumDirect = 100
}

extension Audience {
    private static let names: Set<String> = [
        "everyone", "installations", "users", "channels", "platforms", "segment", "where", "except",
    ]

    /// Reads the member `audience` of a body, or what is stored.
    ///
    /// - Throws: `invalid-body` or `invalid-filter` that names the field, such as `audience.channels`.
    init(_ json: JSONValue) throws {
        self = try ServiceError.inside("audience") { try Audience(BodyFields(json, Self.names)) }
        try check()
    }

    private init(_ fields: BodyFields) throws {
        isEveryone = try fields.flag("everyone") ?? false
        installations = try fields.names("installations", upTo: Self.maximumInstallations)?.map { text in
            guard let id = UUID(uuidString: text) else {
                throw ServiceError(
                    .invalidBody, "Each element must be an installation id, a UUID.", field: "installations")
            }
            return id
        }
        users = try fields.names("users", upTo: Self.maximumUsers)
        channels = try fields.names("channels", upTo: Self.maximumChannels)
        platforms = try fields.names("platforms", upTo: 20)?.map { text in
            guard let platform = Platform(rawValue: text) else {
                throw ServiceError(
                    .invalidBody,
                    "Each element must be one of \(Platform.allCases.map(\.rawValue).joined(separator: ", ")).",
                    field: "platforms")
            }
            return platform
        }
        segment = try fields.text("segment", upTo: 64)
        condition = fields.object("where")
        if let except = fields.object("except") {
            exceptUsers = try ServiceError.inside("except") {
                try BodyFields(except, ["users"]).names("users", upTo: Self.maximumExceptUsers) ?? []
            }
        }
    }

    /// Checks an audience before it is stored. One that exceeds a limit could not be read again.
    ///
    /// - Throws: `invalid-body` when no recipient is named or too many are, `invalid-filter`; with the field.
    func check() throws {
        try ServiceError.inside("audience") { try checkRecipients() }
    }

    private func checkRecipients() throws {
        let namesRecipients =
            isEveryone || installations != nil || users != nil || channels != nil || platforms != nil || segment != nil
            || condition != nil
        guard namesRecipients else {
            throw ServiceError(
                .invalidBody,
                "The audience must name users, installations, channels, platforms, segment, where, or everyone.")
        }
        for (list, name) in [(users, "users"), (channels, "channels")] where list?.isEmpty == true {
            throw ServiceError(.invalidBody, "Expected at least one element.", field: name)
        }
        if installations?.isEmpty == true {
            throw ServiceError(.invalidBody, "Expected at least one element.", field: "installations")
        }
        let limits = [
            ("installations", installations?.count ?? 0, Self.maximumInstallations),
            ("users", users?.count ?? 0, Self.maximumUsers),
            ("channels", channels?.count ?? 0, Self.maximumChannels),
            ("except", exceptUsers.count, Self.maximumExceptUsers),
        ]
        for (name, count, limit) in limits where count > limit {
            throw ServiceError(.invalidBody, "Expected at most \(limit) elements, found \(count).", field: name)
        }
        if let condition { _ = try AudienceCondition(condition) }
    }

    /// The audience as it is stored and shown.
    var json: JSONValue {
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ texts: [String]?) {
            if let texts { members.append(.init(name, .array(texts.map { .string($0) }))) }
        }
        if isEveryone { members.append(.init("everyone", .bool(true))) }
        add("installations", installations?.map { $0.uuidString.lowercased() })
        add("users", users)
        add("channels", channels)
        add("platforms", platforms?.map(\.rawValue))
        if let segment { members.append(.init("segment", .string(segment))) }
        if let condition { members.append(.init("where", condition)) }
        if !exceptUsers.isEmpty {
            members.append(.init("except", .object([.init("users", .array(exceptUsers.map { .string($0) }))])))
        }
        return .object(members)
    }

    /// The push services of the selected platforms.
    var services: Set<PushService> { platforms.map { Set($0.flatMap(\.services)) } ?? Set(PushService.allCases) }
}

extension BodyFields {
    /// Reads a list of names; nil when missing or null.
    fileprivate func names(_ name: String, upTo limit: Int) throws -> [String]? {
        guard let texts = try strings(name, upTo: limit) else { return nil }
        guard texts.allSatisfy({ (1...Audience.maximumNameLength).contains($0.utf8.count) && !$0.utf8.contains(0) })
        else {
            throw ServiceError(
                .invalidBody, "Each element must have 1 to \(Audience.maximumNameLength) bytes.", field: name)
        }
        return texts
    }
}
