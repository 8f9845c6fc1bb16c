import AuthService
import Foundation
import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// PostgreSQL and the six processes, or several copies of them, on one machine.
///
/// `services` are listed in start order. Shutdown is in reverse order, so the gateway drains first and PostgreSQL stops
/// last. In between, `DatabaseStep` waits for PostgreSQL and updates the schema; at the end, `AnnouncementStep` waits
/// for all processes and prints the connection.
struct LocalServer {
    let services: [any Service]

    /// Whether `deploy/dashboard` has built the dashboard where the gateway looks for it.
    private static func hasDashboard(beside routes: URL) -> Bool {
        let page = routes.deletingLastPathComponent().appending(path: "dashboard/dist/index.html")
        return FileManager.default.fileExists(atPath: page.path)
    }

    /// - Parameters:
    ///   - copies: The number of copies of each service. If there are several, there is also a second gateway.
    ///   - staffUser: User name of the first staff member.
    init(
        state: URL, programs: URL, routes: URL, copies: Int = 1, staffUser: String = "admin",
        environment: [String: String], logger: Logger
    ) throws {
        guard (1...ServerPlan.maximumCopies).contains(copies) else {
            throw UpError("expected 1 to \(ServerPlan.maximumCopies) for --copies, found \(copies)")
        }
        let secrets = try StoredSecrets.readOrMake(at: state.appending(path: "secrets.json"))
        let external = environment["MARTLET_DATABASE_URL"].flatMap { $0.isEmpty ? nil : $0 }
        let port = try Self.port(environment)
        let fixed = try ServerPlan.fixedPorts(environment).compactMap(\.self)
        guard Set(fixed + [port]).count == fixed.count + 1 else { throw UpError("two settings name the same port") }
        let free = try FreePort.find(1 + ServerPlan.numberOfPorts(copies: copies), excluding: Set(fixed + [port]))
        let cluster =
            try external == nil
            ? Cluster(state: state, port: free[0], password: Secret(secrets.superuserPassword)) : nil
        let superuserURL = external ?? cluster?.superuserURL ?? ""
        let plan = try ServerPlan(
            copies: copies, publicHost: environment["MARTLET_HOST"] ?? "127.0.0.1", publicPort: port,
            ports: Array(free.dropFirst()), state: state, routes: routes, secrets: secrets, inherited: environment
        ) { name in
            let (user, password) = ("martlet_" + name, secrets.servicePasswords[name] ?? "")
            if let cluster { return cluster.url(user: user, password: password) }
            return try Self.url(superuserURL, user: user, password: password)
        }
        let gate = StartGate()
        var services: [any Service] = [LogRotation(folder: state.appending(path: "log"))]
        if let cluster {
            try cluster.initialize()
            services.append(
                ChildProcess(
                    name: "postgres", command: cluster.command, environment: environment, state: state, logger: logger))
        }
        let announcement = AnnouncementStep(
            plan: plan, publicURL: Self.publicURL(environment, port: port), superuserURL: Secret(superuserURL),
            state: state, hasDashboard: Self.hasDashboard(beside: routes), staffUser: staffUser, gate: gate)
        let setup = DatabaseStep(
            superuserURL: Secret(superuserURL), makesDatabase: cluster != nil, secrets: secrets,
            serviceURLs: plan.entries.filter { $0.name == $0.program }.compactMap { entry in
                entry.environment["MARTLET_DATABASE_URL"].map { (entry.name, Secret($0)) }
            }, announcement: announcement, gate: gate,
            log: cluster == nil ? nil : state.appending(path: "log/postgres.log"))
        services.append(setup)
        for entry in plan.entries {
            let child = ChildProcess(
                name: entry.name, command: [programs.appending(path: entry.program).path],
                environment: entry.environment, state: state, logger: logger)
            services.append(GatedService(service: child, gate: gate))
        }
        services.append(announcement)
        self.services = services
    }

    static func port(_ environment: [String: String]) throws -> Int {
        for name in ["MARTLET_GATEWAY_HTTP_PORT", "MARTLET_PORT"] {
            if let port = try port(environment[name], of: name) { return port }
        }
        return 8080
    }

    /// Nil if the variable is not set.
    static func port(_ text: String?, of name: String) throws -> Int? {
        guard let text, !text.isEmpty else { return nil }
        guard let port = Int(text), (1...65_535).contains(port) else {
            throw UpError("expected a port from 1 to 65535 in \(name), found \(JSONValue.excerpt(text))")
        }
        return port
    }

    /// The address that the operator has set, or one for calls from this machine.
    static func publicURL(_ environment: [String: String], port: Int) -> String {
        if let url = environment["MARTLET_PUBLIC_URL"], !url.isEmpty { return url }
        let hasTLS = (environment["MARTLET_GATEWAY_TLS_CERTIFICATE"] ?? environment["MARTLET_TLS_CERTIFICATE"]) != nil
        let scheme = hasTLS ? "https" : "http"
        let host = environment["MARTLET_HOST"] ?? "127.0.0.1"
        let isAny = host == "0.0.0.0" || host == "::"
        return "\(scheme)://\(isAny ? "127.0.0.1" : host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    /// The address of the same database for another user. The address may list several hosts, each with a port of its
    /// own, which `URL` cannot parse. So it is parsed like in libpq: the user ends at the first `@` before a slash.
    ///
    /// - Throws: `UpError` unless the address is a URI with user and password before the host. In other places, the
    ///   superuser's name and password would stay in the address.
    static func url(_ url: String, user: String, password: String) throws -> String {
        let refusal = UpError(
            """
            MARTLET_DATABASE_URL must have the form postgresql://user:password@host:port/database; several hosts are \
            separated by commas
            """)
        guard let scheme = ["postgresql://", "postgres://"].first(where: { url.hasPrefix($0) }) else { throw refusal }
        var rest = url.dropFirst(scheme.count)
        if let end = rest.firstIndex(where: { $0 == "@" || $0 == "/" }), rest[end] == "@" {
            rest = rest[rest.index(after: end)...]
        }
        guard let first = rest.first, first != "/", first != "?" else { throw refusal }
        let parameters = rest.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        for parameter in parameters.split(separator: "&") {
            let name = String(parameter.prefix { $0 != "=" }).removingPercentEncoding
            guard let name, !["user", "password", "passfile", "service"].contains(name) else { throw refusal }
        }
        return "\(scheme)\(encoded(user)):\(encoded(password))@\(rest)"
    }

    private static func encoded(_ text: String) -> String {
        let unreserved = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
        return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }
}

/// A gate that opens once the database is ready for the services.
final class StartGate: Sendable {
    private let isOpen = Atomic(false)

    func open() {
        isOpen.store(true, ordering: .releasing)
    }

    /// Returns when the gate is open or the task is cancelled.
    func pass() async {
        while !isOpen.load(ordering: .acquiring) && !Task.isCancelled { try? await Task.sleep(for: .milliseconds(10)) }
    }
}

/// Runs a service after the gate has opened.
struct GatedService: Service {
    let service: any Service
    let gate: StartGate

    func run() async throws {
        await cancelWhenGracefulShutdown { await gate.pass() }
        if Task.isShuttingDownGracefully || Task.isCancelled { return }
        try await service.run()
    }
}
