public import Foundation
public import Logging
public import ServiceLifecycle
import Synchronization

/// The clients of all signing keys, each created on first use. A key has one provider token for both environments.
public final class APNsClients: Service {
    private struct Identity: Hashable {
        var teamID: String
        var keyID: String
        var fingerprint: String
    }

    private struct Entry {
        var token: APNsProviderToken
        var clients: [APNsEnvironment: APNsClient] = [:]
        var lastUse = 0
    }

    private struct State {
        var entries: [Identity: Entry] = [:]
        var uses = 0
        var isShutDown = false
    }

    private let maximumKeys: Int
    private let configuration: @Sendable (APNsEnvironment) -> APNsConfiguration
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    /// - Parameter maximumKeys: Beyond this number the least recently used key's clients are shut down.
    public init(
        maximumKeys: Int = 1_000, logger: Logger, now: @escaping @Sendable () -> Date,
        configuration: @escaping @Sendable (APNsEnvironment) -> APNsConfiguration = { APNsConfiguration($0) }
    ) {
        self.maximumKeys = max(1, maximumKeys)
        self.configuration = configuration
        self.logger = logger
        self.now = now
    }

    /// Sends a notification with the key's client.
    ///
    /// - Throws: If the configuration's certificates cannot be read.
    public func send(_ notification: APNsNotification, key: APNsKey, to environment: APNsEnvironment) async throws
        -> PushOutcome
    {
        guard let client = try client(key, environment) else { return .failed(.notSent, reason: "shut-down") }
        return await client.send(notification)
    }

    /// The status of the key's client; nil if there is none.
    public func status(of key: APNsKey, in environment: APNsEnvironment) async -> APNsStatus? {
        await state.withLock { $0.entries[Self.identity(key)]?.clients[environment] }?.status()
    }

    public func run() async throws {
        try? await gracefulShutdown()
        let clients = state.withLock { state in
            state.isShutDown = true
            return state.entries.values.flatMap(\.clients.values)
        }
        await withTaskGroup { group in
            for client in clients { group.addTask { await client.shutDown() } }
        }
    }

    private func client(_ key: APNsKey, _ environment: APNsEnvironment) throws -> APNsClient? {
        let (client, evicted) = try state.withLock { state -> (APNsClient?, [APNsClient]) in
            guard !state.isShutDown else { return (nil, []) }
            let identity = Self.identity(key)
            state.uses += 1
            var entry = state.entries[identity] ?? Entry(token: APNsProviderToken(key))
            entry.lastUse = state.uses
            let client =
                try entry.clients[environment]
                ?? APNsClient(configuration(environment), token: entry.token, logger: logger, now: now)
            entry.clients[environment] = client
            state.entries[identity] = entry
            return (client, Self.makeRoom(&state.entries, maximumKeys))
        }
        for client in evicted { Task { await client.shutDown() } }
        return client
    }

    private static func makeRoom(_ entries: inout [Identity: Entry], _ maximum: Int) -> [APNsClient] {
        guard entries.count > maximum, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key else {
            return []
        }
        return entries.removeValue(forKey: oldest).map { Array($0.clients.values) } ?? []
    }

    private static func identity(_ key: APNsKey) -> Identity {
        Identity(teamID: key.teamID, keyID: key.keyID, fingerprint: key.fingerprint)
    }
}
