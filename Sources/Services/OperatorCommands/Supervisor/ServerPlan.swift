import AuthService
import Foundation
import MartletAPI
import MartletCore
import NIOCore

/// The processes of a server on one machine, with their addresses and environments.
struct ServerPlan: Sendable {
    static let serviceNames = ServiceName.allCases.map(\.rawValue)

    /// A second gateway when there are several copies, so that clients can be distributed over two gateways.
    static let secondGateway = "gateway-2"
    /// More copies would need more connections than the cluster of `martlet up` allows (docs/SCALING.md).
    static let maximumCopies = 5

    struct Entry: Sendable {
        /// The program's name for its first copy, `storage-2` for the second.
        var name: String
        var port: Int
        var internalPort: Int
        var environment: [String: String]

        /// The Unix socket for the gateway; nil if its path would be too long, so that the gateway uses the port.
        var socket: String? { environment["MARTLET_HTTP_SOCKET"] }
        var program: String { ServerPlan.program(of: name) }
        var address: String { "http://127.0.0.1:\(port)" }
        var internalAddress: String { "http://127.0.0.1:\(internalPort)" }
    }

    /// The services, copy by copy, followed by the gateways.
    let entries: [Entry]

    /// Two ports for each service, and an internal one for the gateway.
    static let portCount = numberOfPorts(copies: 1)

    /// Two ports for each copy of a service, an internal one for the gateway, and two for the second gateway, if any.
    static func numberOfPorts(copies: Int) -> Int { 2 * serviceNames.count * copies + (copies > 1 ? 3 : 1) }

    /// The program that a process runs: `storage` for `storage-2`.
    static func program(of process: String) -> String { String(process.prefix { $0 != "-" }) }

    /// - Parameters:
    ///   - copies: The number of copies of each service. If there are several, there is also a second gateway.
    ///   - ports: `numberOfPorts(copies:)` free ports. If `inherited` sets a service's port, the first copy uses that
    ///     port instead.
    ///   - databaseURL: Returns the database address for a service's role.
    init(
        copies: Int = 1, publicHost: String, publicPort: Int, ports: [Int], state: URL, routes: URL,
        secrets: StoredSecrets, inherited: [String: String], databaseURL: (String) throws -> String
    ) throws {
        let given = try GivenSettings(inherited)
        let firstPorts = try zip(Self.fixedPorts(inherited), ports).map { $0 ?? $1 }
        var otherPorts = ports.dropFirst(firstPorts.count)
        var base = inherited.filter { !$0.key.hasPrefix("MARTLET_") }
        base["MARTLET_INTERNAL_SECRET"] = secrets.internalSecret
        var entries: [Entry] = []
        for copy in 1...max(1, copies) {
            let ports = copy == 1 ? firstPorts : Array(otherPorts.prefix(2 * Self.serviceNames.count))
            if copy > 1 { otherPorts = otherPorts.dropFirst(ports.count) }
            for (index, service) in Self.serviceNames.enumerated() {
                let name = copy == 1 ? service : "\(service)-\(copy)"
                var environment = base
                environment["MARTLET_DATABASE_URL"] = try databaseURL(service)
                // Every service can call every other one. With several copies, each calls those of its own number.
                for (other, called) in Self.serviceNames.enumerated() where called != service {
                    environment["MARTLET_SERVICES_" + called.uppercased()] = "http://127.0.0.1:\(ports[2 * other])"
                }
                if service == "storage" {
                    environment["MARTLET_FILES_DIRECTORY"] = state.appending(path: "files").path
                }
                if service == "analytics" {
                    environment["MARTLET_FILES_DIRECTORY"] = state.appending(path: "analytics").path
                    environment["MARTLET_CRASHES_SPOOL_DIRECTORY"] = state.appending(path: "crash-spool").path
                }
                if service == "notifications" {
                    environment["MARTLET_PUSH_JOURNAL_DIRECTORY"] = state.appending(path: "push-journal").path
                }
                if ["auth", "analytics", "notifications"].contains(service) {
                    environment["MARTLET_PUBLIC_URL"] = LocalServer.publicURL(inherited, port: publicPort)
                }
                let socket = state.appending(path: "run/\(name).sock").path
                if (try? SocketAddress(unixDomainSocketPath: socket)) != nil {
                    environment["MARTLET_HTTP_SOCKET"] = socket
                }
                var settings = given.settings(of: service)
                // A socket that the operator has set belongs to the first copy.
                if copy > 1 { settings["MARTLET_HTTP_SOCKET"] = nil }
                environment.merge(settings) { $1 }
                entries.append(
                    Entry(
                        name: name, port: ports[2 * index], internalPort: ports[2 * index + 1],
                        environment: environment))
            }
        }
        var gateway = base
        for service in Self.serviceNames {
            gateway["MARTLET_UPSTREAM_" + service.uppercased()] = entries.filter { $0.program == service }.map {
                $0.socket.map { "unix:" + $0 } ?? "127.0.0.1:\($0.port)"
            }.joined(separator: ",")
        }
        gateway["MARTLET_KEYRING_URL"] = entries.first { $0.name == "auth" }?.address
        gateway["MARTLET_ROUTES_FILE"] = routes.path
        gateway["MARTLET_STATE_DIRECTORY"] = state.appending(path: "gateway").path
        gateway["MARTLET_HTTP_HOST"] = publicHost
        gateway["MARTLET_PUBLIC_URL"] = LocalServer.publicURL(inherited, port: publicPort)
        gateway.merge(given.settings(of: "gateway")) { $1 }
        let internalPort = firstPorts[Self.portCount - 1]
        if copies > 1, let publicPort = otherPorts.first, let internalPort = otherPorts.dropFirst().first {
            var second = gateway
            second["MARTLET_KEYRING_URL"] = entries.first { $0.name == "auth-2" }?.address
            second["MARTLET_STATE_DIRECTORY"] = gateway["MARTLET_STATE_DIRECTORY"].map { $0 + "-2" }
            entries.append(
                Entry(name: Self.secondGateway, port: publicPort, internalPort: internalPort, environment: second))
        }
        entries.append(Entry(name: "gateway", port: publicPort, internalPort: internalPort, environment: gateway))
        self.entries = entries.map { entry in
            var entry = entry
            entry.environment["MARTLET_HTTP_PORT"] = String(entry.port)
            entry.environment["MARTLET_INTERNAL_PORT"] = String(entry.internalPort)
            return entry
        }
    }

    /// The ports that the operator has set, in the order of `init`'s `ports`. Nil where any free port can be used.
    static func fixedPorts(_ inherited: [String: String]) throws -> [Int?] {
        let given = try GivenSettings(inherited)
        let names =
            serviceNames.flatMap { [($0, "http.port"), ($0, "internal.port")] } + [("gateway", "internal.port")]
        return try names.map { process, key in
            let text = given.settings(of: process)[SettingNames.variable(key)]
            return try LocalServer.port(text, of: SettingNames.variable(process + "." + key))
        }
    }

    /// The address of an app's OIDC provider, as published by the auth service.
    func issuer(of appID: String) -> String? {
        entries.first { $0.name == AuthService.name }?.environment["MARTLET_PUBLIC_URL"].map {
            Issuer.url(publicURL: $0, appID, .live)
        }
    }

    /// The DSN of an app for Sentry clients.
    func sentryDSN(key: String, appNumber: Int, publicURL: String) -> String? {
        guard var address = URLComponents(string: publicURL) else { return nil }
        address.user = key
        address.path =
            (address.path.hasSuffix("/") ? String(address.path.dropLast()) : address.path) + "/crash/\(appNumber)"
        return address.string
    }
}
