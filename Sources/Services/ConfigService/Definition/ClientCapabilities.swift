import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The capabilities that a client declares: `?client=1.4.0&capabilities=RoundImageView:1,ChartView:2`. Clients that
/// declare nothing are assumed to support everything.
struct ClientCapabilities: Sendable {
    static let maximumComponents = 200

    let client: VersionNumber?
    /// Kinds and operations of the host app with their versions; nil if the client did not declare them.
    let components: [String: Int]?

    init(client: VersionNumber?, components: [String: Int]?) {
        self.client = client
        self.components = components
    }

    /// - Throws: `invalid-parameter`.
    init(_ request: Request) throws {
        client = try request.uri.queryParameters["client"].map { text in
            guard let version = VersionNumber(String(text)) else {
                throw ServiceError(.invalidParameter, "Expected the app's version, such as 1.10.", field: "client")
            }
            return version
        }
        components = try request.uri.queryParameters["capabilities"].map { text in
            guard let components = Self.components(text) else {
                throw ServiceError(
                    .invalidParameter,
                    "Expected at most \(Self.maximumComponents) names with their versions, such as RoundImageView:1,ChartView:2.",
                    field: "capabilities")
            }
            return components
        }
    }

    private static func components(_ text: Substring) -> [String: Int]? {
        var components: [String: Int] = [:]
        for part in text.split(separator: ",") {
            let pieces = part.split(separator: ":", omittingEmptySubsequences: false)
            guard pieces.count == 2, DocumentKey.isName(String(pieces[0])), let version = Int(pieces[1]), version > 0,
                components.count < maximumComponents
            else { return nil }
            components[String(pieces[0])] = version
        }
        return components
    }

    var areDeclared: Bool { client != nil || components != nil }

    /// The names of the requirements that the client does not meet; empty if it can show the definition.
    func missing(for definition: CompiledDefinition) -> [String] {
        var missing: [String] = []
        if let client, let least = definition.minClient, client.sortKey < least.sortKey { missing.append("client") }
        guard let components else { return missing }
        return missing + definition.requires.filter { (components[$0.key] ?? 0) < $0.value }.keys.sorted()
    }

    /// The views for which the client shows the fallback.
    func fallbacks(in definition: CompiledDefinition) -> [CompiledDefinition.OptionalRequirement] {
        guard let components else { return [] }
        return definition.options.filter { (components[$0.kind] ?? 0) < $0.version }
    }
}
