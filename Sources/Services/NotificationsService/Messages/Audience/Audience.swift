import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// Whom a message is for: installations for which all that is given holds.
///
/// As JSON
/// `{"installations":[…],"users":[…],"channels":[…],"platforms":[…],"segment":"…","where":{…},"everyone":true,"except":{"users":[…]}}`;
/// within a list one of its elements is enough. What names nobody says `everyone`, so that nobody is forgotten by
/// mistake.
struct Audience: Sendable, Equatable {
    static let maximumInstallations = 1_000
    static let maximumUsers = 1_000
    static let maximumChannels = 100
    /// Who is left out: of a rule, 10,000 who do not get it and as many who got it by their names.
    static let maximumExceptUsers = 20_000
    /// Bytes of an installation's channel or a user's id.
    static let maximumNameLength = 200

    var isEveryone = false
    var installations: [UUID]?
    var users: [String]?
    /// One of them is enough.
    var channels: [String]?
    var platforms: [Platform]?
    /// The name of one that is stored.
    var segment: String?
    /// In the Mongo-like grammar of flags, over `InstallationFacts`.
    var condition: JSONValue?
    /// Who does not get it even so.
    var exceptUsers: [String] = []

    static let everyone = Audience(isEveryone: true)

    static func users(_ ids: [String], except: [String] = []) -> Audience { Audience(users: ids, exceptUsers: except) }

    static func installations(_ ids: [UUID]) -> Audience { Audience(installations: ids) }

    /// It names those whom it is for: they can be looked up.
    var isDirect: Bool {
        segment == nil && condition == nil && (installations?.count ?? users?.count ?? .max) <= Self.maximumDirect
    }

    static let maximumDirect = 100
}

extension Audience {
    private static let names: Set<String> = [
        "everyone", "installations", "users", "channels", "platforms", "segment", "where", "except",
    ]

    /// - Throws: `invalid-body`, `invalid-filter`.
    init(_ json: JSONValue) throws {
        let fields = try BodyFields(json, Self.names)
        isEveryone = try fields.flag("everyone") ?? false
        installations = try fields.names("installations", upTo: Self.maximumInstallations)?.map { text in
            guard let id = UUID(uuidString: text) else {
                throw HTTPProblem(.invalidBody, "These are ids of installations.", field: "installations")
            }
            return id
        }
        users = try fields.names("users", upTo: Self.maximumUsers)
        channels = try fields.names("channels", upTo: Self.maximumChannels)
        platforms = try fields.names("platforms", upTo: 20)?.map { text in
            guard let platform = Platform(rawValue: text) else {
                throw HTTPProblem(
                    .invalidBody, "There are \(Platform.allCases.map(\.rawValue).joined(separator: ", ")).",
                    field: "platforms")
            }
            return platform
        }
        segment = try fields.text("segment", upTo: 64)
        condition = fields.object("where")
        if let except = fields.object("except") {
            exceptUsers = try BodyFields(except, ["users"]).names("users", upTo: Self.maximumExceptUsers) ?? []
        }
        try check()
    }

    /// - Throws: `invalid-body` for what names nobody, `invalid-filter`.
    func check() throws {
        let namesSomebody =
            isEveryone || installations != nil || users != nil || channels != nil || platforms != nil || segment != nil
            || condition != nil
        guard namesSomebody else {
            throw HTTPProblem(
                .invalidBody,
                "Say whom it is for: users, installations, channels, platforms, segment, where, or everyone.",
                field: "audience")
        }
        for (list, name) in [(users, "users"), (channels, "channels")] where list?.isEmpty == true {
            throw HTTPProblem(.invalidBody, "An empty list is nobody.", field: name)
        }
        if installations?.isEmpty == true {
            throw HTTPProblem(.invalidBody, "An empty list is nobody.", field: "installations")
        }
        if users.map({ $0.count > Self.maximumUsers }) == true {
            throw HTTPProblem(.invalidBody, "At most \(Self.maximumUsers) users.", field: "users")
        }
        if let condition { _ = try AudienceCondition(condition) }
    }

    /// As it is stored and shown.
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

    /// Push services of the platforms that it is for.
    var services: Set<PushService> { platforms.map { Set($0.flatMap(\.services)) } ?? Set(PushService.allCases) }
}

extension BodyFields {
    /// A list of names; nil where there is none, or null.
    fileprivate func names(_ name: String, upTo limit: Int) throws -> [String]? {
        guard let texts = try strings(name, upTo: limit) else { return nil }
        guard texts.allSatisfy({ (1...Audience.maximumNameLength).contains($0.utf8.count) && !$0.utf8.contains(0) })
        else {
            throw HTTPProblem(.invalidBody, "Each has 1 to \(Audience.maximumNameLength) bytes.", field: name)
        }
        return texts
    }
}
