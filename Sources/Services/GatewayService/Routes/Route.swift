import MartletAPI
import NIOCore

/// One validated entry of the route file, in the form the gateway matches requests against.
final class Route: Sendable {
    let pattern: String
    let upstream: String
    /// Position of `upstream` among the sorted names of all upstreams.
    let upstreamIndex: Int
    let credential: RouteCredential
    let methods: MethodSet
    let maximumBodyBytes: Int64
    let headTimeout: TimeAmount
    /// Time limit for the whole request body.
    let bodyTimeout: TimeAmount
    /// How far a request body may fall behind the minimum rate.
    let bodyStall: TimeAmount
    let waits: Bool
    let isStreaming: Bool
    /// The upstream's path for opening a relay of its streams (`Relay`).
    let relayPath: String?
    /// The upstream's path for its generation feed, which lets the gateway repeat 304 responses (`NotModifiedCache`).
    let generationPath: String?
    let tellsAddress: Bool
    let ignoresToken: Bool
    let hangsUp: Bool
    let tellsMessage: Bool
    private let reading: ScopeMask
    private let changing: ScopeMask
    let segments: [Segment]
    /// Index of the captured parameter that holds the app key, and of the one that holds the project number.
    let appKeyIndex: Int?
    let projectIndex: Int?
    /// Index of the captured parameter that holds an ingest key.
    let ingestKeyIndex: Int?
    /// Index of the captured parameter that holds the id of the app a staff member is working on.
    let appIDIndex: Int?
    /// Nil forwards the path unchanged.
    let rewrite: [Piece]?
    /// Length in bytes of the literal parts of `rewrite`.
    let rewriteBytes: Int

    enum Segment: Hashable {
        case literal([UInt8])
        case parameter
        case rest
    }

    enum Piece {
        case literal([UInt8])
        case parameter(Int)
        case rest
    }

    init(_ entry: RouteFile.Entry, configuration: GatewayConfiguration) throws(GatewayConfigurationError) {
        func invalid(_ what: String) -> GatewayConfigurationError {
            GatewayConfigurationError("Route \(entry.path): \(what).")
        }
        guard let upstreamIndex = configuration.upstreams.keys.sorted().firstIndex(of: entry.upstream) else {
            throw invalid("unknown upstream '\(entry.upstream)'")
        }
        let (segments, names) = try Self.segments(entry.path, invalid)
        var methods = MethodSet()
        for name in entry.methods {
            guard let method = Method(name: name), method != .connect, method != .trace else {
                throw invalid("method '\(name)' is not allowed")
            }
            methods.insert(method)
        }
        guard !methods.isEmpty else { throw invalid("no methods") }
        if methods.contains(.get) { methods.insert(.head) }

        self.pattern = entry.path
        self.upstream = entry.upstream
        self.upstreamIndex = upstreamIndex
        self.credential = entry.credential
        self.methods = methods
        self.segments = segments
        self.appKeyIndex = names.firstIndex(of: "appKey")
        self.projectIndex = names.firstIndex(of: "project")
        self.ingestKeyIndex = names.firstIndex(of: "ingestKey")
        self.appIDIndex = names.firstIndex(of: "app")
        self.rewrite = try entry.rewrite.map { text throws(GatewayConfigurationError) in
            try Self.pieces(text, names, hasRest: segments.last == .rest, invalid)
        }
        self.rewriteBytes = (rewrite ?? []).reduce(0) { sum, piece in
            if case .literal(let text) = piece { sum + text.count } else { sum }
        }
        let maximum = entry.maximumBodyBytes ?? configuration.limits.maximumBodyBytes
        guard maximum >= 0 else { throw invalid("maximumBodyBytes is negative") }
        self.maximumBodyBytes = maximum == 0 ? .max : maximum
        let seconds = entry.timeoutSeconds ?? 0
        guard seconds >= 0, seconds < 86_400 else { throw invalid("timeoutSeconds is out of range") }
        self.headTimeout =
            seconds > 0 ? .milliseconds(Int64(seconds * 1000)) : TimeAmount(configuration.timeouts.responseHead)
        let bodySeconds = entry.bodySeconds ?? 0
        guard bodySeconds >= 0, bodySeconds < 86_400 else { throw invalid("bodySeconds is out of range") }
        let (timeouts, hasOwn) = (configuration.timeouts, bodySeconds > 0)
        self.bodyTimeout = hasOwn ? .milliseconds(Int64(bodySeconds * 1000)) : TimeAmount(timeouts.body)
        self.bodyStall = TimeAmount(hasOwn ? timeouts.idle : timeouts.bodyStall)
        self.waits = entry.waits ?? false
        self.isStreaming = entry.streaming ?? false
        guard
            entry.relay.map({
                $0.hasPrefix("/") && entry.streaming == true && $0.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            }) ?? true
        else {
            throw invalid("relay must be a path, and the route must have streaming")
        }
        self.relayPath = entry.relay
        guard entry.generations.map({ $0.hasPrefix("/") && $0.utf8.allSatisfy { (0x21...0x7e).contains($0) } }) ?? true
        else {
            throw invalid("generations must be a path")
        }
        self.generationPath = entry.generations
        self.tellsAddress = entry.tellsAddress ?? false
        self.ignoresToken = entry.ignoresToken ?? false
        self.hangsUp = entry.hangsUp ?? false
        self.tellsMessage = entry.tellsMessage ?? false
        if let area = entry.area, KeyArea(rawValue: area) == nil { throw invalid("unknown area '\(area)'") }
        let area = KeyArea(rawValue: entry.area ?? entry.upstream)
        self.reading = ScopeMask(area, isReading: true)
        self.changing = entry.isReading == true ? self.reading : ScopeMask(area, isReading: false)
        let needsAppKey = [.client, .master, .link].contains(entry.credential)
        guard !needsAppKey || appKeyIndex != nil else { throw invalid("this credential needs {appKey} in the path") }
        guard ingestKeyIndex == nil || entry.credential == .ingest else {
            throw invalid("{ingestKey} is only allowed with the credential ingest")
        }
    }

    /// The permission that a limited key needs for `method`.
    @inline(__always)
    func scope(of method: Method) -> ScopeMask { method.isSafe ? reading : changing }

    private typealias Invalid = (String) -> GatewayConfigurationError

    private static func segments(
        _ path: String, _ invalid: Invalid
    ) throws(GatewayConfigurationError) -> (segments: [Segment], names: [String]) {
        guard path.hasPrefix("/") else { throw invalid("the path must begin with a slash") }
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var segments: [Segment] = []
        var names: [String] = []
        for (index, part) in parts.enumerated() {
            if part == "**" {
                guard index == parts.count - 1 else { throw invalid("** must come last") }
                segments.append(.rest)
            } else if part.hasPrefix("{"), part.hasSuffix("}") {
                names.append(String(part.dropFirst().dropLast()))
                segments.append(.parameter)
            } else {
                guard !part.contains(where: { "{}*%?#".contains($0) }), !part.isEmpty || index == parts.count - 1 else {
                    throw invalid("segment '\(part)' is empty or contains one of { } * % ? #")
                }
                segments.append(.literal(Array(part.utf8)))
            }
        }
        guard names.count <= Captures.maximumCount, Set(names).count == names.count else {
            throw invalid("expected at most \(Captures.maximumCount) different parameters, found \(names)")
        }
        return (segments, names)
    }

    private static func pieces(
        _ text: String, _ names: [String], hasRest: Bool, _ invalid: Invalid
    ) throws(GatewayConfigurationError) -> [Piece] {
        guard text.hasPrefix("/") else { throw invalid("the rewrite must begin with a slash") }
        var pieces: [Piece] = []
        var literal: [UInt8] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            literal.append(UInt8(ascii: "/"))
            var piece: Piece?
            if part == "**" {
                guard hasRest else { throw invalid("the rewrite has ** but the path does not") }
                piece = .rest
            } else if part.hasPrefix("{"), part.hasSuffix("}") {
                guard let index = names.firstIndex(of: String(part.dropFirst().dropLast())) else {
                    throw invalid("the rewrite names \(part), which is not in the path")
                }
                piece = .parameter(index)
            }
            if let piece {
                pieces += [.literal(literal), piece]
                literal = []
            } else {
                literal += Array(part.utf8)
            }
        }
        return literal.isEmpty ? pieces : pieces + [.literal(literal)]
    }
}
