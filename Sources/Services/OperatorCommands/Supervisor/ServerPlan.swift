import AuthService
import Foundation
import MartletAPI
import MartletCore
import NIOCore

/// The processes of a server on one machine, with their addresses and environments.
struct ServerPlan: Sendable {
    static let serviceNames = ServiceName.allCases.map(\.rawValue)

    struct Entry: Sendable {
        var name: String
        var port: Int
        var internalPort: Int
        var environment: [String: String]

        /// The Unix socket for the gateway; nil if its path would be too long, so that the gateway uses the port.
        var socket: String? { environment["MARTLET_HTTP_SOCKET"] }
        var address: String { "http://127.0.0.1:\(port)" }
        var internalAddress: String { "http://127.0.0.1:\(internalPort)" }
    }

    /// The services, followed by the gateway.
    let entries: [Entry]

    /// Two ports for each service, and an internal one for the gateway.
    static let portCount = 2 * serviceNames.count + 1

    /// - Parameters:
    ///   - ports: `portCount` free ports, used where `inherited` sets none.
    ///   - databaseURL: Returns the database address for a service's role.
    init(
        publicHost: String, publicPort: Int, ports: [Int], state: URL, routes: URL, secrets: StoredSecrets,
        inherited: [String: String], databaseURL: (String) throws -> String
    ) throws {
        let given = try GivenSettings(inherited)
        let ports = try zip(Self.fixedPorts(inherited), ports).map { $0 ?? $1 }
        var base = inherited.filter { !$0.key.hasPrefix("MARTLET_") }
        base["MARTLET_INTERNAL_SECRET"] = secrets.internalSecret
        var entries: [Entry] = []
        for (index, name) in Self.serviceNames.enumerated() {
            var environment = base
            environment["MARTLET_DATABASE_URL"] = try databaseURL(name)
            // Every service can call every other one.
            for (other, service) in Self.serviceNames.enumerated() where service != name {
                environment["MARTLET_SERVICES_" + service.uppercased()] = "http://127.0.0.1:\(ports[2 * other])"
            }
            if name == "storage" {
                environment["MARTLET_FILES_DIRECTORY"] = state.appending(path: "files").path
            }
            if name == "analytics" {
                environment["MARTLET_FILES_DIRECTORY"] = state.appending(path: "analytics").path
                environment["MARTLET_CRASHES_SPOOL_DIRECTORY"] = state.appending(path: "crash-spool").path
            }
            if name == "notifications" {
                environment["MARTLET_PUSH_JOURNAL_DIRECTORY"] = state.appending(path: "push-journal").path
            }
            if ["auth", "analytics", "notifications"].contains(name) {
                environment["MARTLET_PUBLIC_URL"] = LocalServer.publicURL(inherited, port: publicPort)
            }
            let socket = state.appending(path: "run/\(name).sock").path
            if (try? SocketAddress(unixDomainSocketPath: socket)) != nil { environment["MARTLET_HTTP_SOCKET"] = socket }
            environment.merge(given.settings(of: name)) { $1 }
            entries.append(
                Entry(name: name, port: ports[2 * index], internalPort: ports[2 * index + 1], environment: environment))
        }
        var gateway = base
        for entry in entries {
            gateway["MARTLET_UPSTREAM_" + entry.name.uppercased()] =
                entry.socket.map { "unix:" + $0 } ?? "127.0.0.1:\(entry.port)"
        }
        gateway["MARTLET_KEYRING_URL"] = entries.first { $0.name == "auth" }?.address
        gateway["MARTLET_ROUTES_FILE"] = routes.path
        gateway["MARTLET_STATE_DIRECTORY"] = state.appending(path: "gateway").path
        gateway["MARTLET_HTTP_HOST"] = publicHost
        gateway["MARTLET_PUBLIC_URL"] = LocalServer.publicURL(inherited, port: publicPort)
        gateway.merge(given.settings(of: "gateway")) { $1 }
        entries.append(
            Entry(name: "gateway", port: publicPort, internalPort: ports[Self.portCount - 1], environment: gateway))
        self.entries = entries.map { entry in
            var entry = entry
            entry.environment["MARTLET_HTTP_PORT"] = String(entry.port)
            entry.environment["MARTLET_INTERNAL_PORT"] = String(entry.internalPort)
            return entry
        }
    }

    /// The ports that the operator has set, in the order of `init`'s `ports`; nil for those that may be any.
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
