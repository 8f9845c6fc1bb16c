import HTTPTypes

/// The direct endpoints of a service, by method and path.
struct DirectRoutes: Sendable {
    struct Match {
        let entry: Entry
        let parameters: [String]
    }

    struct Entry: Sendable {
        let route: Route
        let endpoint: any DirectEndpoint
        let query: QueryChecks
        /// The fixed parts of the path; nil for parameters.
        fileprivate let parts: [Substring?]

        fileprivate init(_ route: Route, _ endpoint: any DirectEndpoint) {
            self.route = route
            self.endpoint = endpoint
            query = QueryChecks(route)
            parts = Self.parts(of: route.path)
        }

        fileprivate static func parts(of path: String) -> [Substring?] {
            path.split(separator: "/").map { $0.hasPrefix("{") ? nil : $0 }
        }
    }

    private let entries: [Entry]
    /// Every fixed part of any route, by position. A parameter with such a value may belong to another route.
    private let fixed: [Set<Substring>]

    init(_ table: RouteTable) {
        entries = table.direct.map { Entry($0.route, $0.endpoint) }
        fixed = table.routes.reduce(into: []) { fixed, entry in
            for (position, part) in Entry.parts(of: entry.route.path).enumerated() {
                if position == fixed.count { fixed.append([]) }
                if let part { fixed[position].insert(part) }
            }
        }
    }

    var isEmpty: Bool { entries.isEmpty }

    /// Nil if the router has to decide.
    func match(_ method: HTTPRequest.Method, _ target: String) -> Match? {
        guard entries.contains(where: { $0.route.method == method }), target.utf8.first == UInt8(ascii: "/") else {
            return nil
        }
        let path = target.dropFirst().utf8.prefix { $0 != UInt8(ascii: "?") }
        // The router's endpoint decodes these.
        guard !path.contains(UInt8(ascii: "%")) else { return nil }
        let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(Substring.init)
        for entry in entries where entry.parts.count == parts.count && entry.route.method == method {
            if let parameters = parameters(of: entry, parts) { return Match(entry: entry, parameters: parameters) }
        }
        return nil
    }

    private func parameters(of entry: Entry, _ parts: [Substring]) -> [String]? {
        var parameters: [String] = []
        for (position, part) in parts.enumerated() {
            if let name = entry.parts[position] {
                guard part == name else { return nil }
            } else {
                guard !part.isEmpty, !fixed[position].contains(part) else { return nil }
                parameters.append(String(part))
            }
        }
        return parameters
    }
}
