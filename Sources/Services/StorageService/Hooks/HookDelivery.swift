import Logging
import MartletHTTP
import MartletPostgres
import NIOCore
import ServiceLifecycle
import Synchronization

/// Tells `after…` hooks of changes, each at least once: from the change log into deliveries, and from there to the
/// hook, again and again with growing pauses until it answers 2xx or `maximumAttempts` are over.
///
/// Every copy of the service does it; a hook's log is taken by one at a time, and each delivery is made by one at a
/// time. Deliveries of one hook are made `width` at a time and may overtake each other; hooks do not wait for each
/// other.
final class HookDelivery: Service {
    /// How often to look for hooks that are new.
    private static let lookInterval: Duration = .seconds(5)
    private static let width = 4
    private static let maximumHooks = 10_000
    private static let roundsBetweenPruning = 200

    private let postgres: PostgresClient
    private let hooks: HookStore
    private let deliveries: DeliveryStore
    private let client: HookClient
    private let ledger: HookLedger
    private let signal: ChangeSignal
    private let settings: HookSettings
    private let logger: Logger
    /// Those that have a task.
    private let served = Mutex<Set<Key>>([])

    struct Key: Hashable, Sendable {
        let space: AppSpace
        let hook: String
    }

    init(
        postgres: PostgresClient, hooks: HookStore, deliveries: DeliveryStore, client: HookClient, ledger: HookLedger,
        signal: ChangeSignal, settings: HookSettings,
        logger: Logger
    ) {
        self.postgres = postgres
        self.hooks = hooks
        self.deliveries = deliveries
        self.client = client
        self.ledger = ledger
        self.signal = signal
        self.settings = settings
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.serve { try await self.keys() } }
    }

    /// The hooks of one space only, until the task is cancelled.
    func run(in space: AppSpace) async {
        await serve { try await self.names(in: space).map { Key(space: space, hook: $0) } }
    }

    private func serve(_ keys: @escaping @Sendable () async throws -> [Key]) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                do {
                    for key in try await keys() {
                        let isNew = served.withLock { $0.count < Self.maximumHooks && $0.insert(key).inserted }
                        guard isNew else { continue }
                        group.addTask {
                            await self.serve(key)
                            _ = self.served.withLock { $0.remove(key) }
                        }
                    }
                } catch {
                    logger.warning("hooks not looked for", metadata: ["error.cause": "\(error)"])
                }
                try? await Task.sleep(for: Self.lookInterval * Double.random(in: 0.8...1.2))
            }
            group.cancelAll()
        }
    }

    /// The hooks that are told of changes, in all spaces.
    func keys() async throws -> [Key] {
        var keys: [Key] = []
        for row in try await postgres.query("SELECT schema FROM storage.hook_spaces ORDER BY schema") {
            guard let space = AppSpace(schema: try row.decode(0)) else { continue }
            do {
                keys += try await names(in: space).map { Key(space: space, hook: $0) }
            } catch {
                logger.warning("a space's hooks not looked for", metadata: ["error.cause": "\(error)"])
            }
        }
        return keys
    }

    private func names(in space: AppSpace) async throws -> [String] {
        try await hooks.enabled(in: space).filter(\.event.isAfter).map(\.name)
    }

    /// Until the hook is gone or disabled.
    private func serve(_ key: Key) async {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let signs = signal.follow(key.space)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in signs { wake.yield() }
            }
            group.addTask { [settings] in
                repeat {
                    wake.yield()
                } while (try? await Task.sleep(for: settings.pollInterval * Double.random(in: 0.8...1.2))) != nil
            }
            var rounds = 0
            for await _ in wakes {
                do {
                    guard try await names(in: key.space).contains(key.hook) else { break }
                    while try await round(key), !Task.isCancelled {}
                    if rounds % Self.roundsBetweenPruning == 0 { try await deliveries.prune(key.hook, in: key.space) }
                    rounds += 1
                } catch {
                    logger.warning(
                        "a hook's deliveries stopped for now",
                        metadata: ["hook.name": "\(key.hook)", "error.cause": "\(error)"])
                    try? await Task.sleep(for: settings.pollInterval)
                }
            }
            group.cancelAll()
        }
    }

    /// Takes what is new and makes what is due, once; whether there may be more at once.
    func round(_ key: Key) async throws -> Bool {
        guard try await deliveries.hasWork(for: key.hook, in: key.space) else { return false }
        let hasMore = try await deliveries.take(for: key.hook, in: key.space)
        let claims = try await deliveries.claim(for: key.hook, limit: Self.width, in: key.space)
        guard !claims.isEmpty else { return hasMore }
        let hook = try await hooks.find(try HookName(key.hook), of: key.space)
        await withDiscardingTaskGroup { group in
            for claim in claims { group.addTask { await self.make(claim, hook, key.space) } }
        }
        return true
    }

    private func make(_ claim: DeliveryStore.Claim, _ hook: Hook, _ space: AppSpace) async {
        let start = ContinuousClock.now
        // Without: this copy is ending, and another one tries when the lease is over.
        guard
            let outcome = try? await client.send(
                ByteBuffer(string: claim.body), id: claim.webhookID, to: hook, in: space)
        else { return }
        if outcome.isAccepted {
            ledger.count(hook, .answered, took: .now - start)
        } else {
            await ledger.note(outcome, of: hook, in: space, took: .now - start)
        }
        let isLast = outcome.isGone || claim.attempts >= settings.maximumAttempts
        if !outcome.isAccepted, isLast {
            logger.warning(
                "a hook was not told of a change",
                metadata: [
                    "hook.name": "\(hook.name)", "delivery.id": "\(claim.webhookID)",
                    "error.cause": "\(outcome.cause ?? "")",
                ])
        }
        let pause =
            isLast
            ? nil : max(settings.pause(after: claim.attempts), min(outcome.retryAfter ?? .zero, settings.maximumPause))
        do {
            // Standard Webhooks: whoever answers 410 wants no more.
            if outcome.isGone, try await hooks.disable(hook, in: space) {
                logger.warning("a hook answered 410 and was disabled", metadata: ["hook.name": "\(hook.name)"])
            }
            try await deliveries.settle(claim, status: outcome.status, error: outcome.failure, pause: pause, in: space)
        } catch {
            logger.warning(
                "a delivery's end was not written",
                metadata: ["delivery.id": "\(claim.webhookID)", "error.cause": "\(error)"])
        }
    }
}
