import Foundation
import MartletHTTP
import Testing

@testable import OperatorCommands

/// The documents and descriptions that are generated from the routes' declarations.
@Suite struct DescriptionTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    private static func gateway() throws -> GatewayRoutes {
        try GatewayRoutes(try Data(contentsOf: root.appending(path: "gateway/routes.json")))
    }

    @Test func `docs/openapi.yaml matches the declarations; deploy/openapi writes it`() async throws {
        var document = OpenAPIDocument(routes: try await ServiceRoute.all(), gateway: try Self.gateway())
        let written = try String(contentsOf: Self.root.appending(path: "docs/openapi.yaml"), encoding: .utf8)
        #expect(document.yaml() == written, "Run deploy/openapi.")
    }

    @Test func `docs/reference matches the declarations; deploy/openapi writes it`() async throws {
        let pages = ReferencePages(routes: try await ServiceRoute.all(), gateway: try Self.gateway()).pages()
        let folder = Self.root.appending(path: "docs/reference")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == pages.map(\.name).sorted())
        for (name, text) in pages {
            let written = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            #expect(text == written, "\(name): run deploy/openapi.")
        }
    }

    @Test func `every documented route can be reached through the gateway by a credential of its callers`() async throws
    {
        let gateway = try Self.gateway()
        for entry in try await ServiceRoute.all() where entry.route.isDocumented {
            #expect(
                !gateway.addresses(of: entry).isEmpty,
                "\(entry.service) \(entry.route.method) \(entry.route.path) for \(entry.route.callers)")
        }
    }

    @Test func `no call between our own processes can be reached through the gateway`() async throws {
        let gateway = try Self.gateway()
        let inside = try await ServiceRoute.all().filter { $0.route.callers == .processes }
        #expect(inside.count >= 17)
        for entry in inside { #expect(gateway.addresses(of: entry).isEmpty, "\(entry.route.path)") }
    }

    @Test func `every route of the gateway leads to a service's route`() async throws {
        let gateway = try Self.gateway()
        let reached = Set(
            try await ServiceRoute.all().flatMap { entry in gateway.entries(to: entry).map(\.path) })
        // A slash at the end of a path means nothing to a service's router.
        let paths = gateway.routes.map(\.path).filter { !$0.hasSuffix("/") || reached.contains($0) }
        #expect(Set(paths).subtracting(reached).sorted() == [])
    }

    /// `docs/api/staff.md` lists the calls that only a master key may make, with the reasons.
    @Test func `staff may make each call of an app's server, except in the protocols of other programs`() async throws {
        let closed = try await ServiceRoute.all().map(\.route).filter { $0.callers == .server }.map(\.path)
        #expect(closed.filter { !$0.hasPrefix("/crash/api/0") && !$0.hasPrefix("/thesis/") } == [])
        let gateway = try Self.gateway()
        for route in gateway.routes where route.credential == "staff" && route.ignoresToken != true {
            #expect(route.tellsAddress == true, "\(route.path): the audit log needs the address")
        }
        for entry in try await ServiceRoute.all() {
            guard case .managers = entry.route.callers else { continue }
            #expect(gateway.addresses(of: entry).contains { $0.entry.credential == "staff" }, "\(entry.route.path)")
        }
    }

    @Test func `each operation has a name of its own, a summary and an answer`() async throws {
        let routes = try await ServiceRoute.all().map(\.route).filter(\.isDocumented)
        let names = routes.map(\.operation)
        #expect(names.filter { name in names.count { $0 == name } > 1 } == [])
        for route in routes {
            #expect(route.operation.wholeMatch(of: /[a-z][A-Za-z0-9]+/) != nil, "\(route.operation)")
            #expect(!route.summary.isEmpty, "\(route.operation)")
            #expect(!route.documentation().answers.isEmpty, "\(route.operation)")
        }
    }

    @Test func `a declared path parameter is in the path, and no parameter is declared twice`() async throws {
        for route in try await ServiceRoute.all().map(\.route) {
            let names = route.parameters.map { "\($0.place) \($0.name)" }
            #expect(Set(names).count == names.count, "\(route.operation)")
            for parameter in route.parameters where parameter.place == .path {
                #expect(
                    route.path.contains("{\(parameter.name)}") || route.path.hasSuffix("**"),
                    "\(route.operation): \(parameter.name)")
            }
        }
    }
}
