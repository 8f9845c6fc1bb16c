import Foundation
import Glibc
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush
import MartletPushSimulator
import MartletTesting
import NIOCore
import ServiceLifecycle
import ServiceTesting
import Testing

@testable import NotificationsService

/// A database, simulated APNs, and instances that send.
struct DeliveryWorld: Sendable {
    let database: MigratedDatabase
    let postgres: PostgresClient
    let apns: APNsSimulator
    let key: SimulatedKey
    let space: Space
    let service: NotificationsService
    var options: NotificationsOptions

    /// - Parameters:
    ///   - answerLimit: How long APNs may be silent. Long, like the other limits, because a slow machine must not cause
    ///     second sends or delayed connections.
    ///   - drainLimit: How long an instance that shuts down waits for answers.
    ///   - setUp: Changes settings before anything runs.
    static func run(
        _ behaviour: APNsSimulator.Behaviour = .init(), answerLimit: TimeAmount = .seconds(300),
        drainLimit: TimeAmount = .seconds(2),
        setUp: (inout NotificationsOptions) -> Void = { _ in },
        _ body: (DeliveryWorld) async throws -> Void
    ) async throws {
        try await MigratedDatabase.with { try await run(behaviour, answerLimit, drainLimit, on: $0, setUp, body) }
    }

    private static func run(
        _ behaviour: APNsSimulator.Behaviour, _ answerLimit: TimeAmount, _ drainLimit: TimeAmount,
        on database: MigratedDatabase,
        _ setUp: (inout NotificationsOptions) -> Void,
        _ body: (DeliveryWorld) async throws -> Void
    ) async throws {
        let (apns, key) = (try await APNsSimulator.start(behaviour), SimulatedKey())
        apns.trust(key)
        var options = NotificationsOptions(internalSecret: NotificationsApp.internalSecret)
        options.devices.hosts.apns = { _ in
            var configuration = APNsConfiguration(
                host: apns.host, port: apns.port, trustedCertificates: apns.trustedCertificates)
            configuration.answerLimit = answerLimit
            configuration.drainLimit = drainLimit
            // Deliveries that wait for a failing connection are held back once it has failed.
            configuration.connectLimit = behaviour.withholdsSettings ? .seconds(5) : .seconds(120)
            configuration.waitLimit = .seconds(600)
            configuration.pingLimit = .seconds(300)
            return configuration
        }
        options.devices.hosts.outgoing = OutgoingClient(.anywhere)
        // A slow machine must not cause deliveries to be sent twice. Tests of crashes call `expireLeases`.
        options.delivery.lease = .seconds(3_600)
        options.delivery.pollInterval = .milliseconds(100)
        setUp(&options)
        let postgres = database.client(for: "notifications")
        let service = NotificationsService(postgres: postgres, options: options, logger: .silent, now: { Date() })
        let world = DeliveryWorld(
            database: database, postgres: postgres, apns: apns, key: key,
            space: try await service.spaces.space(of: "app1", .live), service: service,
            options: options)
        try await world.put(apnsFile(key))
        try await body(world)
        await postgres.close()
        await apns.stop()
    }

    func put(_ content: some CredentialContent, in space: Space? = nil) async throws {
        _ = try await service.devices.credentials.store.put(content, by: .service, in: (space ?? self.space).id)
    }

    static func apnsFile(_ key: SimulatedKey) throws -> APNsKeyFile {
        let file =
            #"{"main":{"key":\#(JSONValue.quote(key.pem)),"keyID":"\#(key.keyID)"},"teamID":"\#(key.teamID)","bundleIDs":["com.example.app"]}"#
        return try JSONDecoder().decode(APNsKeyFile.self, from: Data(file.utf8))
    }

    // MARK: Messages to send

    /// Creates installations numbered from `first`; their APNs tokens are their numbers.
    func install(_ count: Int, from first: Int = 1) async throws {
        try await postgres.execute(
            """
            INSERT INTO notifications.installations (space, id, secret_digest, platform, service, token, token_registered)
            SELECT \(space.id), lpad(to_hex(n), 32, '0')::uuid, '\\x00', 'ios', 'apns', lpad(to_hex(n), 64, '0'), now() - interval '1 day'
            FROM generate_series(\(first), \(first + count - 1)) AS n
            """)
    }

    func install(_ number: Int, _ service: PushService, token: String, publicKey: String? = nil, secret: String? = nil)
        async throws
    {
        try await postgres.execute(
            """
            INSERT INTO notifications.installations (space, id, secret_digest, platform, service, token, token_registered, public_key, auth_secret)
            VALUES (\(space.id), \(Self.installation(number)), '\\x00', \(service == .fcm ? "android" : "web"), \(service.rawValue), \(token), now(),
                \(publicKey), \(secret))
            """)
    }

    static func installation(_ number: Int) -> UUID {
        let hexadecimal = String(number, radix: 16)
        let digits = String(repeating: "0", count: 32 - hexadecimal.count) + hexadecimal
        let parts = [
            digits.prefix(8), digits.dropFirst(8).prefix(4), digits.dropFirst(12).prefix(4),
            digits.dropFirst(16).prefix(4), digits.suffix(12),
        ]
        return UUID(uuidString: parts.joined(separator: "-"))!
    }

    static func token(_ number: Int) -> String {
        let hexadecimal = String(number, radix: 16)
        return String(repeating: "0", count: 64 - hexadecimal.count) + hexadecimal
    }

    /// Sends a message to the installations with these numbers.
    ///
    /// - Parameter isOld: Whether it was planned by a version that did not record the push service.
    @discardableResult
    func order(
        _ content: String = #"{"body":"Hello"}"#, to numbers: ClosedRange<Int>, paused: Bool = false,
        expires: Duration = .seconds(3_600), isOld: Bool = false
    ) async throws -> UUID {
        let id = UUID()
        try await postgres.execute(
            """
            WITH made AS (
                INSERT INTO notifications.messages (id, space, author, content, audience, state, is_paused, is_planned, planned, expires)
                VALUES (\(id), \(space.id), 'service', \(content)::json, '{}', 'sending', \(paused), TRUE, \(numbers.count),
                    now() + \(expires.inMicroseconds) * interval '1 microsecond') RETURNING id),
            notified AS (SELECT pg_notify(\(DeliveryQueue.channel), ''))
            INSERT INTO notifications.deliveries (message, installation, space, service)
            SELECT made.id, lpad(to_hex(n), 32, '0')::uuid, \(space.id), CASE WHEN \(isOld) THEN '' ELSE coalesce(i.service, 'apns') END
            FROM made CROSS JOIN notified CROSS JOIN generate_series(\(numbers.lowerBound), \(numbers.upperBound)) AS n
            LEFT JOIN notifications.installations AS i ON i.space = \(space.id) AND i.id = lpad(to_hex(n), 32, '0')::uuid
            """)
        return id
    }

    /// Leaves the deliveries to installations numbered from `first` for later: see `makeDue`.
    func postpone(_ message: UUID, from first: Int) async throws {
        try await postgres.execute(
            """
            UPDATE notifications.deliveries SET due = now() + interval '1 hour'
            WHERE message = \(message) AND installation >= \(Self.installation(first))
            """)
    }

    func makeDue(_ message: UUID) async throws {
        try await postgres.execute(
            "UPDATE notifications.deliveries SET due = now() WHERE message = \(message) AND state = 'queued'")
    }

    // MARK: Outcomes

    /// The number of deliveries by `state:reason:attempts`.
    func deliveries(of message: UUID) async throws -> [String: Int] {
        let rows = try await postgres.query(
            """
            SELECT state || coalesce(':' || reason, '') || ':' || attempts, count(*) FROM notifications.deliveries WHERE message = \(message) GROUP BY 1
            """)
        return Dictionary(
            uniqueKeysWithValues: try rows.map { (try $0.decode(0, as: String.self), try $0.decode(1, as: Int.self)) })
    }

    /// Simulates an instance that has been dead for the duration of its leases.
    func expireLeases(of message: UUID) async throws {
        try await postgres.execute(
            "UPDATE notifications.deliveries SET leased_until = now() - interval '1 second' WHERE message = \(message) AND state = 'sending'"
        )
    }

    func state(of message: UUID) async throws -> String? {
        try await postgres.query("SELECT state FROM notifications.messages WHERE id = \(message)").first?.decode(0)
    }

    /// Waits until the message is finished; returns how its deliveries ended.
    func end(of message: UUID) async throws -> [String: Int] {
        try await wait {
            try await postgres.query("SELECT FROM notifications.messages WHERE id = \(message) AND is_settled").count
                == 1
        }
        return try await deliveries(of: message)
    }

    func wait(until condition: () async throws -> Bool) async throws {
        do {
            try await eventually { try await condition() }
        } catch {
            Issue.record(
                "\(try await deliverySummary()), \(apns.requestCount) requests on \(apns.connectionCount) connections")
            throw error
        }
    }

    /// The current state, recorded when a wait times out.
    private func deliverySummary() async throws -> [String] {
        try await postgres.query(
            """
            SELECT concat_ws(' ', count(*), state, reason, attempts, 'due', min(due) - now(), 'leased', min(leased_until) - now())
            FROM notifications.deliveries GROUP BY state, reason, attempts
            """
        ).map { try $0.decode(0) }
    }

    func hasToken(_ number: Int) async throws -> Bool {
        try await postgres.query(
            "SELECT FROM notifications.installations WHERE id = \(Self.installation(number)) AND token IS NOT NULL"
        ).count == 1
    }

    // MARK: Copies

    /// Runs a sender like one process among several.
    func withCopy(_ body: (Copy) async throws -> Void) async throws {
        let copy = Copy(self)
        do {
            try await body(copy)
            await copy.shutDown()
        } catch {
            await copy.shutDown()
            throw error
        }
    }

    final class Copy: Sendable {
        let service: NotificationsService
        private let group: ServiceGroup
        private let task: Task<Void, Never>

        init(_ world: DeliveryWorld) {
            let postgres = world.database.client(for: "notifications")
            service = NotificationsService(postgres: postgres, options: world.options, logger: .silent, now: { Date() })
            let services: [any Service] = [postgres] + service.devices.background + service.delivery.background
            let group = ServiceGroup(services: services, logger: .silent)
            self.group = group
            task = Task { try? await group.run() }
        }

        func shutDown() async {
            await group.triggerGracefulShutdown()
            await task.value
        }

        /// Simulates the death of the process: claimed deliveries are not released.
        func die() async {
            task.cancel()
            await task.value
        }
    }
}

/// A port that accepts connections and never answers.
struct SilentPort: Sendable {
    private let socket: Int32
    let address: String

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 128) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard socket >= 0, isBound else { throw POSIXError(.EADDRINUSE) }
        self.address = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    }

    func stop() { close(socket) }
}
