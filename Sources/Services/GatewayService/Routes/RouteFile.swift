import Foundation

/// The format of `gateway/routes.json`: the paths that exist, the credentials they need and the upstreams that serve
/// them.
struct RouteFile: Codable {
    var routes: [Entry]

    struct Entry: Codable {
        /// Each segment is a literal or `{name}`, which matches any one segment. A final `**` matches the rest of the
        /// path (at least one byte).
        var path: String
        /// A key of `GatewayConfiguration.upstreams`.
        var upstream: String
        var credential: RouteCredential
        /// Upper-case method names; GET includes HEAD.
        var methods: [String]
        /// The path sent to the upstream, using `{name}` and `**` from `path`. Default: the original path.
        var rewrite: String?
        /// Default: `Limits.maximumBodyBytes`. 0 means no limit.
        var maximumBodyBytes: Int64?
        /// Time limit for the response head. Default: `Timeouts.responseHead`.
        var timeoutSeconds: Double?
        /// Time limit for the whole request body. If set, the body may also pause for as long as an idle connection
        /// may. For file uploads from slow phones. Default: `Timeouts.body`.
        var bodySeconds: Double?
        /// Requests may long-poll. When the gateway shuts down, it answers waiting requests with 503.
        var waits: Bool?
        /// Server-sent events or WebSocket: no time limit after the head, and upgrades are passed through.
        var streaming: Bool?
        /// The upstream's path for opening a relay, which lets it send one event to many streams. Requires `streaming`.
        var relay: String?
        /// The upstream's path for its generation feed, which lets the gateway repeat 304 responses
        /// (`NotModifiedCache`).
        var generations: String?
        /// Sends the client address used for rate limits to the service in `X-Martlet-Address`.
        var tellsAddress: Bool?
        /// Skips the access token check, because a client that refreshes its token may send an expired one.
        var ignoresToken: Bool?
        /// The area a limited key needs, see `KeyArea`. Default: the upstream's name. If that is not an area, limited
        /// keys are refused.
        var area: String?
        /// Requests change nothing, whatever their method, so a read-only key is enough.
        var isReading: Bool?
        /// Closes the connection where the gateway itself would answer 5xx. Meant for clients that discard data after
        /// any response but keep it and retry when there is none.
        var hangsUp: Bool?
        /// Adds `message` to the gateway's own refusals (`Problem.message`).
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

/// The credential a route requires before the gateway forwards a request.
enum RouteCredential: String, Codable {
    /// `{appKey}` with the app's secret, or with a master key in its place.
    case client
    /// `{appKey}` with a master key.
    case master
    /// A master key as bearer token, which also identifies the app: for third-party tools that cannot send other
    /// headers.
    case masterBearer
    /// An ingest key as Basic user name, in `X-Sentry-Auth`, in the query or as `{ingestKey}` in the path. `{project}`,
    /// if present, must be the app's number.
    case ingest
    /// An evaluation key as bearer token or in `X-API-Key`.
    case evaluation
    /// `{appKey}` alone, which identifies the app. The service verifies the signature of the link itself.
    case link
    /// A staff member's access token as bearer token (RFC 6750 §2.1), or in a cookie (`BrowserSession`); keys are not
    /// accepted. `{app}`, if present, is an app's id. With `ignoresToken` the route is open to everyone, for sign-in.
    case staff
    /// Open to everyone. The principal is an anonymous visitor, and `Authorization` is forwarded unchanged.
    case none
}
