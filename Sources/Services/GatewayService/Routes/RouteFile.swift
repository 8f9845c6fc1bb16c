import Foundation

/// The shape of `gateway/routes.json`: which paths exist, who may use them and which upstream serves them.
struct RouteFile: Codable {
    var routes: [Entry]

    struct Entry: Codable {
        /// Segments that are literal, `{name}` for any one segment, or a last `**` for all that follow (at least one byte).
        var path: String
        /// A key of `GatewayConfiguration.upstreams`.
        var upstream: String
        var credential: RouteCredential
        /// Names in upper case; GET stands for HEAD too.
        var methods: [String]
        /// The upstream's path, with `{name}` and `**` of `path`; default: the path as it came.
        var rewrite: String?
        /// Default: `Limits.maximumBodyBytes`; 0: no limit.
        var maximumBodyBytes: Int64?
        /// For the response head. Default: `Timeouts.responseHead`.
        var timeoutSeconds: Double?
        /// For the whole request body, which may then pause for as long as a connection may: for files from slow phones.
        /// Default: `Timeouts.body`.
        var bodySeconds: Double?
        /// Its requests may wait for news: a gateway that stops answers 503 to those that do.
        var waits: Bool?
        /// Events or WebSocket: no time limit behind the head, upgrades are passed through.
        var streaming: Bool?
        /// Of a route with `streaming`: the upstream's path where a relay is opened, by which it sends one event to many streams.
        var relay: String?
        /// The upstream's path of a feed that tells its generations, by which answers 304 are given again (`UnchangedAnswers`).
        var generations: String?
        /// The service is told who counts as one client, in `X-Martlet-Address`.
        var tellsAddress: Bool?
        /// An access token is not looked at: whoever comes to get a new one may send one that has expired.
        var ignoresToken: Bool?
        /// What a limited key must be for, see `KeyArea`. Default: the upstream's name; where that is no area, limited keys do not open it.
        var area: String?
        /// Its requests change nothing, whatever their method: a key limited to reading opens it.
        var isReading: Bool?
        /// Where the gateway itself would answer 5xx it closes the connection: for clients that throw away what they sent once it is answered, and
        /// keep it when it is not.
        var hangsUp: Bool?
        /// The gateway's own refusals have `message` (`Problem.message`).
        var tellsMessage: Bool?
    }

    static func read(_ file: String) throws -> RouteFile {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw GatewayConfigurationError("The route file \(file) cannot be read.")
        }
        do {
            return try JSONDecoder().decode(RouteFile.self, from: data)
        } catch {
            throw GatewayConfigurationError("The route file \(file) is not valid: \(error)")
        }
    }
}

/// What a route asks of the request before it is passed on.
enum RouteCredential: String, Codable {
    /// `{appKey}` with the app's secret, or with a master key in its place.
    case client
    /// `{appKey}` with a master key.
    case master
    /// A master key as bearer token, which says whose it is: for tools by others that send no other header.
    case masterBearer
    /// An ingest key as Basic user name, in `X-Sentry-Auth` or in the query, or `{ingestKey}` of the path; `{project}`, if any, is the app's number.
    case ingest
    /// An evaluation key as bearer token or in `X-API-Key`.
    case evaluation
    /// `{appKey}` alone, which says whose link it is: the service checks the link's own signature.
    case link
    /// A staff member's access token as bearer token (RFC 6750 §2.1), and nothing else: no cookie, no key. `{app}`, if any, is an app's id.
    /// With `ignoresToken`: open to everyone, to sign in.
    case staff
    /// Open to everyone; no principal is passed on.
    /// Open to everyone: the service is told that a visitor asks, and gets `Authorization` as it came.
    case none
}
