import Foundation
import Testing
import Yams

/// Checks that `docs/openapi.yaml`, the services' `Routes*.swift` and `gateway/routes.json` agree.
///
/// Parameters are compared by position, not by name, because the router uses one name for each position in a path.
@Suite struct OpenAPITests {
    @Test("docs/openapi.yaml has exactly the routes of the code")
    func routesAreDocumented() throws {
        let documented = Set(try OpenAPIDocument.read().operations.map(\.call))
        let coded = Set(try CodedRoutes.read().map { "\($0.method) \(CodedRoutes.address(of: $0.path))" })
        #expect(!coded.isEmpty)
        #expect(coded.subtracting(documented).sorted() == [], "in the code only")
        #expect(documented.subtracting(coded).sorted() == [], "in docs/openapi.yaml only")
    }

    @Test("every documented route is reachable through the gateway, at the path the service knows")
    func routesAreReachable() throws {
        let gateway = try GatewayRoutes.read()
        let coded = Set(try CodedRoutes.read().map { "\($0.upstream) \($0.method) \($0.path)" })
        for operation in try OpenAPIDocument.read().operations {
            let target = gateway.target(of: operation)
            let call = "\(target?.upstream ?? "nobody") \(operation.method) \(target?.path ?? "nowhere")"
            #expect(coded.contains(call), "\(operation.call) goes to \(call)")
        }
    }

    @Test("every documented route requires the same credential as the gateway")
    func credentialsAreDocumented() throws {
        let gateway = try GatewayRoutes.read()
        let schemes = [
            "client": Set(["secret", "masterKey"]), "master": Set(["masterKey"]), "link": Set<String>(),
            "none": Set<String>(),
            "staff": Set(["staffToken"]),
            "evaluation": Set(["evaluationKey", "evaluationAPIKey"]), "ingest": Set(["ingestKey"]),
            "masterBearer": Set(["masterBearer"]),
            // Signing in needs no credential.
            "staff without token": Set<String>(),
        ]
        for operation in try OpenAPIDocument.read().operations {
            let credential = gateway.target(of: operation)?.credential ?? "-"
            #expect(operation.securitySchemes == schemes[credential], "\(operation.call)")
        }
    }
}

/// A call as the documentation lists it; every parameter in `path` is `{}`.
private struct Operation {
    var method: String
    var path: String
    var securitySchemes: Set<String>

    var call: String { "\(method) \(path)" }
}

private enum Repository {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The files directly in a folder whose names are wanted, concatenated.
    static func texts(_ folder: String, _ isWanted: (String) -> Bool) throws -> String {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path).filter(isWanted).sorted()
            .map { try text("\(folder)/\($0)") }.joined(separator: "\n")
    }

    /// The texts of the Swift files in a folder whose names begin with `prefix`.
    static func texts(_ folder: String, named prefix: String) throws -> [String] {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
        return try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasPrefix(prefix) && $0.hasSuffix(".swift") }.sorted().map { try text(folder + "/" + $0) }
    }

    /// The Swift files of a folder whose names begin with `prefix`, concatenated.
    static func texts(_ folder: String, prefix: String) throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
        let names = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
        return try names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".swift") }.sorted().map {
            try text("\(folder)/\($0)")
        }.joined(separator: "\n")
    }
}

private struct OpenAPIDocument {
    private static let methods: Set<String> = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]

    var operations: [Operation]

    static func read() throws -> OpenAPIDocument {
        let document = try #require(try Yams.load(yaml: Repository.text("docs/openapi.yaml")) as? [String: Any])
        let paths = try #require(document["paths"] as? [String: [String: Any]])
        var operations: [Operation] = []
        for (path, item) in paths {
            for (method, operation) in item where methods.contains(method) {
                let security = (operation as? [String: Any])?["security"] as? [[String: Any]] ?? []
                operations.append(
                    Operation(
                        method: method.uppercased(), path: path.replacing(/\{[^}]*\}/, with: "{}"),
                        securitySchemes: Set(security.flatMap(\.keys))))
            }
        }
        return OpenAPIDocument(operations: operations.sorted { $0.call < $1.call })
    }
}

private enum CodedRoutes {
    /// Addresses that differ from the service's path, by the path that the gateway makes of them.
    private static let rewritten = [
        "/segment/v1/settings/{}": "/segment/v1/projects/{}/settings", "/thesis/events": "/api/{}/storage/TBAnalytics",
        "/thesis/exceptions": "/api/{}/storage/TBException", "/thesis/notification": "/api/{}/notification",
        "/thesis/notifications": "/api/{}/storage/TBNotification",
    ]

    /// The address under which clients find the path.
    static func address(of path: String) -> String {
        if let address = rewritten[path] { return address }
        return ["/admin/", "/oidc/", "/ofrep/", "/segment/", "/crash/", "/mail/"].contains { path.hasPrefix($0) }
            ? path : "/api/{}" + path
    }

    /// The `router.on(.method, "path", …)` lines except those between internal services; `:name` becomes `{}`.
    static func read() throws -> [(upstream: String, method: String, path: String)] {
        let services = [
            ("storage", "StorageService"), ("auth", "AuthService"), ("config", "ConfigService"),
            ("analytics", "AnalyticsService"),
            ("notifications", "NotificationsService"),
        ]
        return try services.flatMap { upstream, folder in
            let text = try Repository.texts("Sources/Services/\(folder)") { $0.hasPrefix("Routes") }
            return text.matches(of: /router\.on\(\s*\.([a-z]+), "([^"]+)"/).filter { !$0.2.hasPrefix("internal/") }.map
            {
                match in
                (
                    upstream, String(match.1).uppercased(),
                    "/" + String(match.2).replacing(/:[A-Za-z0-9]+|\*\*/, with: "{}")
                )
            }
        }
    }
}

private struct GatewayRoutes: Decodable {
    struct Entry: Decodable {
        var path: String
        var upstream: String
        var credential: String
        var methods: [String]
        var rewrite: String?
        var ignoresToken: Bool?
    }

    var routes: [Entry]

    static func read() throws -> GatewayRoutes {
        try JSONDecoder().decode(GatewayRoutes.self, from: Data(Repository.text("gateway/routes.json").utf8))
    }

    /// The target of the call at the gateway; nil for 404 or 405.
    func target(of operation: Operation) -> (upstream: String, path: String, credential: String)? {
        let fitting = routes.filter {
            $0.methods.contains(operation.method) && Self.rest(of: operation.path, behind: $0.path) != nil
        }
        // More specific patterns come first, as in the gateway.
        if let entry = fitting.max(by: { Self.words(of: $0.path) < Self.words(of: $1.path) }),
            let rest = Self.rest(of: operation.path, behind: entry.path)
        {
            let rewrite = (entry.rewrite ?? entry.path).replacing(/\{[^}]*\}/, with: "{}")
            let isOpen = entry.credential == "staff" && entry.ignoresToken == true
            return (
                entry.upstream, rewrite.replacing("**", with: rest), entry.credential + (isOpen ? " without token" : "")
            )
        }
        return nil
    }

    private static func words(of pattern: String) -> Int {
        pattern.split(separator: "/").filter { $0 != "**" && !$0.hasPrefix("{") }.count
    }

    /// The part of the path that matches `**`, empty without one; nil if the path does not match.
    private static func rest(of path: String, behind pattern: String) -> String? {
        var segments = path.split(separator: "/", omittingEmptySubsequences: false)[...]
        for part in pattern.split(separator: "/", omittingEmptySubsequences: false) {
            if part == "**" { return segments.isEmpty ? nil : segments.joined(separator: "/") }
            guard let segment = segments.popFirst(), segment == part || part.hasPrefix("{") else { return nil }
        }
        return segments.isEmpty ? "" : nil
    }
}
