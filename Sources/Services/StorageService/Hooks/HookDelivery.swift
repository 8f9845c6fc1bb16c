import Logging
import MartletBackground
import MartletHTTP
import MartletPostgres
import NIOCore
import ServiceLifecycle
import Synchronization

/// Calls `after…` hooks for changes and `scanFile` hooks for new files, at least once each. Turns the change log and
/// new files into deliveries, and retries each one with increasing pauses until the hook answers 2xx (a scanner: with
/// its verdict) or `maximumAttempts` are used up.
///
/// Runs in every copy of the service. Only one copy at a time takes changes for a hook, and only one makes a given
/// delivery. Up to `width` deliveries of a hook run concurrently and may overtake each other; hooks do not wait for
/// each other.
final class HookDelivery: Service {
    /// The interval between searches for new hooks.
    private static let searchInterval: Duration = .seconds(5)
    private static let width = 4
    private static let maximumHooks = 10_000
    private static let roundsBetweenPruning = 200

    private let postgres: PostgresClient
    private let hooks: HookStore
    private let deliveries: DeliveryStore
    private let client: HookClient
    private let ledger: HookLedger
    private let scan: FileScan
    private let signal: ChangeSignal
    private let settings: HookSettings
    private let logger: Logger
    /// The hooks that have a task.
    private let served = Mutex<Set<Key>>([])

    struct Key: Hashable, Sendable {
        let space: AppSchema
        let hook: String
    }

    init(
        postgres: PostgresClient, hooks: HookStore, deliveries: DeliveryStore, client: HookClient, ledger: HookLedger,
        scan: FileScan, signal: ChangeSignal, settings: HookSettings, logger: Logger
    ) {
        self.postgres = postgres
        self.hooks = hooks
        self.deliveries = deliveries
        self.client = client
        self.ledger = ledger
        self.scan = scan
        self.signal = signal
        self.settings = settings
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.serve { try await self.keys() } }
    }

    /// Serves the hooks of a single space until the task is cancelled.
    func run(in space: AppSchema) async {
        await serve { try await self.names(in: space).map { Key(space: space, hook: $0) } }
    }

    private func serve(_ keys: @escaping @Sendable () async throws -> [Key]) async {
        await withDiscardingTaskGroup { group in
            await NotifiedLoop(every: Self.searchInterval, jitter: 0.8...1.2).run {
                await attempt("Could not search for new hooks; retrying in five seconds.", logger: logger) {
                    for key in try await keys() {
                        let isNew = served.withLock { $0.count < Self.maximumHooks && $0.insert(key).inserted }
                        guard isNew else { continue }
                        group.addTask {
                            await self.serve(key)
                            _ = self.served.withLock { $0.remove(key) }
                        }
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// The enabled `after…` and `scanFile` hooks of all spaces.
    func keys() async throws -> [Key] {
        var keys: [Key] = []
        for row in try await postgres.query("SELECT schema FROM storage.hook_spaces ORDER BY schema") {
            guard let space = AppSchema(schema: try row.decode(0)) else { continue }
            do {
                keys += try await names(in: space).map { Key(space: space, hook: $0) }
            } catch {
                logger.warning(
                    "Could not load a space's hooks; skipping the space until the next search.",
                    metadata: ["error.cause": "\(error)"])
            }
        }
        return keys
    }

    private func names(in space: AppSchema) async throws -> [String] {
        try await hooks.enabled(in: space).filter(\.event.isDelivered).map(\.name)
    }

    /// Serves a hook until it is deleted or disabled.
    private func serve(_ key: Key) async {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let signals = signal.follow(key.space)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in signals { wake.yield() }
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
                        "Could not process a hook's deliveries; retrying.",
                        metadata: ["hook.name": "\(key.hook)", "error.cause": "\(error)"])
                    try? await Task.sleep(for: settings.pollInterval)
                }
            }
            group.cancelAll()
        }
    }

    /// Takes new changes and makes the due deliveries once. Returns whether there may be more to do at once.
    func round(_ key: Key) async throws -> Bool {
        guard try await deliveries.hasWork(for: key.hook, in: key.space) else { return false }
        let isScanner = try await hooks.enabled(in: key.space).contains {
            $0.name == key.hook && $0.event == .scanFile
        }
        let hasMore =
            isScanner
            ? try await deliveries.takeFiles(for: key.hook, in: key.space)
            : try await deliveries.take(for: key.hook, in: key.space)
        let claims = try await deliveries.claim(for: key.hook, limit: Self.width, in: key.space)
        guard !claims.isEmpty else { return hasMore }
        let hook = try await hooks.find(try HookName(key.hook), of: key.space)
        await withDiscardingTaskGroup { group in
            for claim in claims {
                group.addTask {
                    if hook.event == .scanFile {
                        await self.scan.make(claim, hook, in: key.space)
                    } else {
                        await self.make(claim, hook, key.space)
                    }
                }
            }
        }
        return true
    }

    private func make(_ claim: DeliveryStore.Claim, _ hook: Hook, _ space: AppSchema) async {
        let start = ContinuousClock.now
        // No outcome means that this copy is shutting down; another one retries after the lease ends.
        guard
            let outcome = try? await client.send(
                ByteBuffer(string: claim.body), id: claim.webhookID, to: hook, in: space)
        else { return }
        if outcome.isAccepted {
            ledger.count(hook, .answered, took: .now - start)
        } else {
            await ledger.record(outcome, of: hook, in: space, took: .now - start)
        }
        let isLast = outcome.isGone || claim.attempts >= settings.maximumAttempts
        if !outcome.isAccepted, isLast {
            logger.warning(
                "Could not notify a hook of a change; giving up.",
                metadata: [
                    "hook.name": "\(hook.name)", "delivery.id": "\(claim.webhookID)",
                    "error.cause": "\(outcome.cause ?? "")",
                ])
        }
        let pause = isLast ? nil : settings.pause(after: claim.attempts, outcome)
        do {
            // Standard Webhooks: the answer 410 unsubscribes the hook.
            if outcome.isGone, try await hooks.disable(hook, in: space) {
                logger.warning("A hook answered 410 and was disabled.", metadata: ["hook.name": "\(hook.name)"])
            }
            try await deliveries.settle(claim, status: outcome.status, error: outcome.failure, pause: pause, in: space)
        } catch {
            logger.warning(
                "Could not record a delivery's outcome; it may be sent again.",
                metadata: ["delivery.id": "\(claim.webhookID)", "error.cause": "\(error)"])
        }
    }
}
