import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore

/// The routes of a service and their endpoints.
public struct RouteTable {
    public private(set) var routes: [(route: Route, section: RouteSection)] = []
    private var endpoints: [any Endpoint] = []
    /// The section of the routes added next.
    public var section = RouteSection.objects

    public init() {}

    public mutating func on(_ route: Route, _ endpoint: some Endpoint) {
        routes.append((route, section))
        endpoints.append(endpoint)
    }

    /// The routes whose endpoint can answer on the event loop. None that refuses some clients or servers of apps, or
    /// has its own format of problems, because only the router takes care of that.
    var direct: [(route: Route, endpoint: any DirectEndpoint)] {
        zip(routes, endpoints).compactMap { entry, endpoint in
            guard entry.route.callers.admitsEveryClient, entry.route.refusal == nil else { return nil }
            return (endpoint as? any DirectEndpoint).map { (entry.route, $0) }
        }
    }

    /// Adds every route to the router, and a refusal for the other methods of each path.
    func bind(to router: Router<ServiceContext>) {
        var names = PathNames()
        for (entry, endpoint) in zip(routes, endpoints) { Self.bind(entry.route, endpoint, to: router, &names) }
        router.refuseOtherMethods()
    }

    private static func bind(
        _ route: Route, _ endpoint: some Endpoint, to router: Router<ServiceContext>, _ names: inout PathNames
    ) {
        let (path, renamed) = names.path(for: route)
        let checks = RequestChecks(route, renamed)
        router.on(RouterPath(path), method: route.method) { request, context in
            do {
                var context = context
                try await checks.check(request, &context)
                guard let actor = request.staffActor(context) else {
                    return try await endpoint.respond(to: request, context)
                }
                return try await StaffActor.$current.withValue(actor) { [context] in
                    try await endpoint.respond(to: request, context)
                }
            } catch let problem as ServiceError {
                guard let response = route.refusal?(problem) else { throw problem }
                return response
            }
        }
    }
}

extension Request {
    /// The staff member whom the audit log names for the changes of the request; nil for reads and for other callers.
    fileprivate func staffActor(_ context: ServiceContext) -> StaffActor? {
        guard method != .get, method != .head, let principal = context.verifiedPrincipal, principal.kind == .staff
        else { return nil }
        return StaffActor(principal, from: staffAddress)
    }
}

/// Chooses the names of path parameters for the router, which allows only one name per position. A position may be `id`
/// in one route and `skip` in another.
private struct PathNames {
    /// The first name used at each position.
    private var names: [String: Substring] = [:]

    /// - Returns: The path with the router's names; and, where the names differ, the router's name → the route's own.
    mutating func path(for route: Route) -> (path: String, renamed: [Substring: Substring]) {
        var (path, place) = ("", "")
        var renamed: [Substring: Substring] = [:]
        for part in route.path.split(separator: "/") {
            guard part.hasPrefix("{") else {
                path += "/" + part
                place += "/" + part
                continue
            }
            let name = part.dropFirst().dropLast()
            place += "/{}"
            let known = names[place] ?? name
            names[place] = known
            if known != name { renamed[known] = name }
            path += "/{" + known + "}"
        }
        return (path, renamed)
    }
}

/// The checks that a route declares for each request.
private struct RequestChecks: Sendable {
    private let callers: Callers
    private let needsConfirmation: Bool
    private let query: QueryChecks
    private let refusesBody: Bool
    private let renamed: [Substring: Substring]

    init(_ route: Route, _ renamed: [Substring: Substring]) {
        self.renamed = renamed
        callers = route.callers
        needsConfirmation = route.needsConfirmation
        query = QueryChecks(route)
        refusesBody = !route.acceptsBody && [.post, .put, .patch, .delete].contains(route.method)
    }

    /// Checks the caller, the path, the query and the body, in this order.
    ///
    /// - Throws: `unauthorized`, `forbidden` and the errors of `ServiceContext.admit`; `confirmation-required`,
    ///   `invalid-path`, `invalid-parameter`, `invalid-body`.
    func check(_ request: Request, _ context: inout ServiceContext) async throws {
        try context.admit(callers)
        if needsConfirmation { try context.requireConfirmation() }
        try context.decodeParameters(renamed)
        context.integers = try query.check(request)
        if refusesBody { try await request.allowNoBody() }
    }
}

/// The checks of a request's query.
struct QueryChecks: Sendable {
    /// Nil: the endpoint checks the query.
    private let parameters: [QueryCheck]?
    /// The declared defaults of integers in the query.
    private let integers: [Substring: Int]

    init(_ route: Route) {
        parameters = route.checksOwnQuery ? nil : route.parameters.filter { $0.place == .query }.map(QueryCheck.init)
        integers = Dictionary(
            (parameters ?? []).compactMap { check in check.defaultInteger.map { (check.name, $0) } },
            uniquingKeysWith: { $1 })
    }

    /// - Returns: The values of the integers that are declared with a default.
    /// - Throws: `invalid-parameter`.
    func check(_ request: Request) throws -> [Substring: Int] {
        guard let parameters else { return integers }
        guard request.uri.query != nil else {
            if let missing = parameters.first(where: \.isRequired) { throw missing.missing }
            return integers
        }
        var integers = integers
        var seen: Set<Substring> = []
        for parameter in request.uri.queryParameters {
            guard let check = parameters.first(where: { $0.name == parameter.key }) else {
                throw ServiceError(
                    .invalidParameter, "This query parameter is unknown.", field: String(parameter.key))
            }
            try check.check(parameter.value)
            // The first value of a repeated parameter counts, as for all readers of the query.
            guard seen.insert(parameter.key).inserted else { continue }
            if check.defaultInteger != nil { integers[check.name] = Int(parameter.value) }
        }
        for check in parameters where check.isRequired && !seen.contains(check.name) { throw check.missing }
        return integers
    }
}

/// Checks the values of one query parameter against its schema.
private struct QueryCheck: Sendable {
    private enum Form: Sendable {
        case any
        case integer(ClosedRange<Int>)
        case choice([String])
        case time
        case uuid
    }

    let name: Substring
    let isRequired: Bool
    let defaultInteger: Int?
    private let form: Form

    init(_ parameter: RouteParameter) {
        name = parameter.name[...]
        isRequired = parameter.isRequired
        var literals: [String: Schema.Literal] = [:]
        let schema = parameter.schema.component?.schema() ?? parameter.schema
        for keyword in schema.keywords {
            if case .literal(let literal) = keyword.value { literals[keyword.name] = literal }
        }
        defaultInteger = literals["default"]?.integer
        form = Self.form(literals)
    }

    private static func form(_ literals: [String: Schema.Literal]) -> Form {
        if case .array(let values) = literals["enum"] {
            return .choice(values.compactMap { if case .string(let text) = $0 { text } else { nil } })
        }
        switch (literals["type"], literals["format"]) {
        case ("integer", _):
            return .integer((literals["minimum"]?.integer ?? .min)...(literals["maximum"]?.integer ?? .max))
        case ("boolean", _): return .choice(["true", "false"])
        case ("string", "date-time"): return .time
        case ("string", "uuid"): return .uuid
        default: return .any
        }
    }

    var missing: ServiceError {
        ServiceError(.invalidParameter, "This query parameter is required.", field: String(name))
    }

    /// - Throws: `invalid-parameter`.
    func check(_ value: Substring) throws {
        guard let expected = expectation(notMetBy: value) else { return }
        throw ServiceError.unexpectedParameter(name, expected: expected, found: value)
    }

    private static func expectation(_ range: ClosedRange<Int>) -> String {
        switch (range.lowerBound, range.upperBound) {
        case (.min, .max): "a whole number"
        case (let lowest, .max): "a whole number of at least \(lowest)"
        case (let lowest, let highest): "a whole number from \(lowest) to \(highest)"
        }
    }

    /// What was expected instead of the value; nil if the value is valid.
    private func expectation(notMetBy value: Substring) -> String? {
        switch form {
        case .any: nil
        case .integer(let range): Int(value).map(range.contains) == true ? nil : Self.expectation(range)
        case .choice(let choices):
            choices.contains { $0 == value }
                ? nil : "\(choices.dropLast().joined(separator: ", ")) or \(choices.last ?? "")"
        case .time: Date(rfc3339: String(value)) == nil ? "a time such as 2026-11-21T08:48:59Z" : nil
        case .uuid: UUID(uuidString: String(value)) == nil ? "an id (a UUID)" : nil
        }
    }
}

extension Schema.Literal {
    fileprivate var integer: Int? { if case .integer(let number) = self { number } else { nil } }
}

extension ServiceContext {
    /// Decodes the percent-encoding of path parameters, which the router does not do, and renames them to the route's
    /// names.
    ///
    /// - Throws: `invalid-path` for a parameter that is not valid UTF-8 or contains NUL, which PostgreSQL cannot store.
    fileprivate mutating func decodeParameters(_ renamed: [Substring: Substring]) throws {
        guard !renamed.isEmpty || parameters.contains(where: { $0.value.isPercentEncoded }) else { return }
        var decoded: [(key: Substring, value: Substring)] = []
        for (key, value) in parameters {
            let name = renamed[key] ?? key
            // The match of `**` is a path, whose parts are decoded separately.
            guard value.isPercentEncoded, !key.hasPrefix(":") else {
                decoded.append((name, value))
                continue
            }
            guard let text = value.removingPercentEncoding, !text.utf8.contains(0) else {
                throw ServiceError(
                    .invalidPath, "A part of the path is not percent-encoded UTF-8.", field: String(name))
            }
            decoded.append((name, text[...]))
        }
        coreContext.parameters = Parameters(decoded)
    }
}

extension Substring {
    fileprivate var isPercentEncoded: Bool { utf8.contains(UInt8(ascii: "%")) }
}
