import Foundation
import HTTPTypes
import MartletCore
import MartletHTTP

/// The part of `gateway/routes.json` that the description of the API needs.
struct GatewayRoutes: Decodable, Sendable {
    struct Entry: Decodable, Sendable {
        var path: String
        var upstream: String
        var credential: String
        var methods: [String]
        var rewrite: String?
        var ignoresToken: Bool?
        var tellsAddress: Bool?

        /// The path as sent to the service.
        var target: String { rewrite ?? path }
    }

    var routes: [Entry]

    init(_ json: Data) throws {
        self = try JSONDecoder().decode(Self.self, from: json)
    }
}

/// The address at which clients call a route, with the required credential.
struct PublicAddress: Sendable {
    /// Parameters in braces, such as `/api/{appKey}/storage/{collection}`.
    let path: String
    let entry: GatewayRoutes.Entry
}

extension GatewayRoutes {
    /// The addresses of a route at which its callers can make the call: first the one for apps, then the one for staff.
    ///
    /// Of several addresses with the same credential, only the first is included.
    func addresses(of route: ServiceRoute) -> [PublicAddress] {
        let method = route.route.method.rawValue
        var found: [PublicAddress] = []
        for entry in routes
        where entry.upstream == route.service.rawValue && entry.methods.contains(method)
            && route.route.callers.canHold(entry.credential)
        {
            guard let path = Self.path(to: route.route.path, by: entry),
                target(of: path, method)?.path == entry.path,
                !found.contains(where: { $0.entry.credential == entry.credential })
            else { continue }
            found.append(PublicAddress(path: path, entry: entry))
        }
        return found.filter { $0.entry.credential != "staff" } + found.filter { $0.entry.credential == "staff" }
    }

    /// All entries that forward to a route, with any credential.
    func entries(to route: ServiceRoute) -> [Entry] {
        routes.filter { entry in
            entry.upstream == route.service.rawValue && entry.methods.contains(route.route.method.rawValue)
                && Self.path(to: route.route.path, by: entry) != nil
        }
    }

    /// The entry that the gateway chooses: the matching one with the most literal path segments.
    func target(of path: String, _ method: String) -> Entry? {
        routes.filter { $0.methods.contains(method) && Self.matches(path, $0.path) }
            .max { Self.literalSegmentCount($0.path) < Self.literalSegmentCount($1.path) }
    }

    private static func literalSegmentCount(_ pattern: String) -> Int {
        pattern.split(separator: "/").count { $0 != "**" && !$0.hasPrefix("{") }
    }

    private static func matches(_ path: String, _ pattern: String) -> Bool {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false)[...]
        for expected in pattern.split(separator: "/", omittingEmptySubsequences: false) {
            if expected == "**" { return !parts.isEmpty }
            guard let part = parts.popFirst(), part == expected || expected.hasPrefix("{") else { return false }
        }
        return parts.isEmpty
    }

    /// The public path that the entry forwards to the service's path; nil if it forwards elsewhere.
    private static func path(to path: String, by entry: Entry) -> String? {
        var parts = path.split(separator: "/")[...]
        var names: [Substring: Substring] = [:]
        var rest = ""
        for expected in entry.target.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            if expected == "**" {
                guard !parts.isEmpty else { return nil }
                rest = parts.joined(separator: "/")
                parts = []
                break
            }
            guard let part = parts.popFirst(), part == expected || expected.hasPrefix("{") else { return nil }
            if expected.hasPrefix("{") { names[expected] = part }
        }
        guard parts.isEmpty else { return nil }
        let segments = entry.path.split(separator: "/").map { segment in
            segment == "**" ? rest[...] : names[segment] ?? segment
        }
        return "/" + segments.joined(separator: "/")
    }
}

extension Callers {
    /// Whether one of these callers can present the credential to the gateway.
    func canHold(_ credential: String) -> Bool {
        switch self {
        case .anyone: return true
        case .client, .user: return credential == "client"
        case .clientOrStaff: return ["client", "staff"].contains(credential)
        case .server: return ["client", "master", "masterBearer"].contains(credential)
        case .managers: return ["client", "master", "masterBearer", "staff"].contains(credential)
        case .staff, .staffOfApp, .signedInStaff, .staffBeforePasswordReset, .staffSigningIn:
            return credential == "staff"
        case .kinds(let kinds):
            let kind = Self.kinds[credential] ?? []
            return !kinds.isDisjoint(with: kind)
        }
    }

    private static let kinds: [String: Set<Principal.Kind>] = [
        "client": [.client, .master], "master": [.master], "masterBearer": [.master], "ingest": [.ingest],
        "evaluation": [.evaluation], "staff": [.staff], "link": [.link], "none": [.visitor],
    ]
}
