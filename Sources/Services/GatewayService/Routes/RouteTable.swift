import MartletAPI

/// The values of a pattern's parameters. Spans refer to the request head.
struct Captures {
    static let maximumCount = 4

    var rest = Span.none
    private var spans = (Span.none, Span.none, Span.none, Span.none)
    private(set) var count = 0

    subscript(index: Int) -> Span {
        switch index {
        case 0: spans.0
        case 1: spans.1
        case 2: spans.2
        default: spans.3
        }
    }

    mutating func append(_ span: Span) {
        switch count {
        case 0: spans.0 = span
        case 1: spans.1 = span
        case 2: spans.2 = span
        default: spans.3 = span
        }
        count += 1
    }

    mutating func removeLast() { count -= 1 }
}

/// All routes as a tree of path segments, matched against the raw bytes of a path.
///
/// A literal segment takes precedence over a parameter, and a parameter over `**`.
final class RouteTable: Sendable {
    struct Match {
        var route: Route
        var captures: Captures
    }

    let routes: [Route]
    private let nodes: [Node]

    private struct Node {
        var literals: [(text: [UInt8], node: Int)] = []
        var parameter: Int?
        var routes: [Route] = []
        var restRoutes: [Route] = []
    }

    init(_ file: RouteFile, configuration: GatewayConfiguration) throws(GatewayConfigurationError) {
        var nodes = [Node()]
        var routes: [Route] = []
        for entry in file.routes {
            let route = try Route(entry, configuration: configuration)
            let others = Self.insert(route, into: &nodes)
            guard others.allSatisfy({ $0.methods.isDisjoint(with: route.methods) }) else {
                throw GatewayConfigurationError("Route \(entry.path): another entry has the same path and method.")
            }
            routes.append(route)
        }
        guard !routes.isEmpty else { throw GatewayConfigurationError("The route file has no routes.") }
        self.routes = routes
        self.nodes = nodes
    }

    /// - Throws: 404 if no pattern matches the path; 405 if one does, but not with this method.
    func match(_ path: Span, method: Method, in bytes: UnsafeRawBufferPointer) throws(Refusal) -> Match {
        var search = Search(bytes: bytes, end: path.end, method: method)
        if let route = search.walk(nodes, 0, from: Int(path.start)) {
            return Match(route: route, captures: search.captures)
        }
        guard let allow = search.allow else { throw Refusal(.notFound) }
        throw Refusal(.methodNotAllowed, allow: allow)
    }

    /// The methods of every route that matches the path, for CORS preflight. Nil if no pattern matches.
    func methods(_ path: Span, in bytes: UnsafeRawBufferPointer) -> String? {
        // No route allows TRACE, so the search visits every match.
        var search = Search(bytes: bytes, end: path.end, method: .trace)
        _ = search.walk(nodes, 0, from: Int(path.start))
        return search.allow
    }

    /// Adds `route` and returns the routes that already had the same pattern.
    private static func insert(_ route: Route, into nodes: inout [Node]) -> [Route] {
        var node = 0
        for segment in route.segments {
            switch segment {
            case .literal(let text):
                if let known = nodes[node].literals.first(where: { $0.text == text }) {
                    node = known.node
                } else {
                    nodes.append(Node())
                    nodes[node].literals.append((text, nodes.count - 1))
                    node = nodes.count - 1
                }
            case .parameter:
                if let known = nodes[node].parameter {
                    node = known
                } else {
                    nodes.append(Node())
                    nodes[node].parameter = nodes.count - 1
                    node = nodes.count - 1
                }
            case .rest:
                defer { nodes[node].restRoutes.append(route) }
                return nodes[node].restRoutes
            }
        }
        defer { nodes[node].routes.append(route) }
        return nodes[node].routes
    }

    private struct Search {
        let bytes: UnsafeRawBufferPointer
        let end: Int
        let method: Method
        var captures = Captures()
        /// Methods of the routes that match the path but not the method.
        private var allowed = MethodSet()

        /// Nil if no pattern matches.
        var allow: String? { allowed.isEmpty ? nil : allowed.names }

        init(bytes: UnsafeRawBufferPointer, end: Int, method: Method) {
            self.bytes = bytes
            self.end = end
            self.method = method
        }

        /// - Parameter slash: Offset of the slash before the next segment, or `end` after the last one.
        mutating func walk(_ nodes: [Node], _ node: Int, from slash: Int) -> Route? {
            if slash == end { return choose(nodes[node].routes) }
            let start = slash + 1
            var next = start
            while next < end, bytes[next] != UInt8(ascii: "/") { next += 1 }
            let segment = UnsafeRawBufferPointer(rebasing: bytes[start..<next])
            for literal in nodes[node].literals where segment.elementsEqual(literal.text) {
                if let route = walk(nodes, literal.node, from: next) { return route }
            }
            if let parameter = nodes[node].parameter, !segment.isEmpty {
                captures.append(Span(start: start, count: next - start))
                if let route = walk(nodes, parameter, from: next) { return route }
                captures.removeLast()
            }
            guard start < end, let route = choose(nodes[node].restRoutes) else { return nil }
            captures.rest = Span(start: start, count: end - start)
            return route
        }

        private mutating func choose(_ routes: [Route]) -> Route? {
            for route in routes {
                if route.methods.contains(method) { return route }
                allowed.formUnion(route.methods)
            }
            return nil
        }
    }
}
