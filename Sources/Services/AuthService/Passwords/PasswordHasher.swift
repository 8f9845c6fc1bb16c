import Glibc
import MartletAPI
import MartletCore
import NIOCore
import NIOPosix
public import ServiceLifecycle
import Synchronization

/// Hashes and checks passwords on dedicated threads, a few at a time: each takes 19 MiB and some 20 ms on a core.
///
/// The threads have a low priority (`nice` 10), so that a flood of log-ins does not stall the rest of the machine.
public final class PasswordHasher: Service {
    /// Half the cores; the rest remain for everything else.
    public static var defaultConcurrency: Int { max(1, System.coreCount / 2) }

    private let pool: NIOThreadPool
    private let semaphore: AsyncSemaphore
    private let running = Atomic(false)
    /// The hash of an unknown password, for accounts that do not exist.
    let decoy: String

    /// - Parameters:
    ///   - concurrency: The maximum number of hashes at a time.
    ///   - maximumWaiting: The maximum number of waiting calls; further ones get `too-many-requests`.
    init(concurrency: Int, maximumWaiting: Int = 64) {
        pool = NIOThreadPool(numberOfThreads: concurrency)
        semaphore = AsyncSemaphore(
            limit: concurrency, maximumWaiting: maximumWaiting,
            refusal: ServiceError(.tooManyRequests, "Too many sign-ins are in progress; try again."))
        decoy = PasswordHash.makeDecoy()
    }

    /// Whether `run` has started; nothing is hashed before.
    var isRunning: Bool { running.load(ordering: .acquiring) }

    public func run() async throws {
        pool.start()
        running.store(true, ordering: .releasing)
        try? await gracefulShutdown()
        try await pool.shutdownGracefully()
    }

    func hash(_ password: Secret) async throws -> String {
        try await onThread { try PasswordHash.make(of: password) }
    }

    /// Takes the same time whether or not there is a hash.
    func verify(_ password: Secret, against hash: String?) async throws -> Bool {
        let decoy = decoy
        let matches = try await onThread { PasswordHash.verify(password, against: hash ?? decoy) }
        return matches && hash != nil
    }

    private func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await semaphore.withPermit {
            try await pool.runIfActive {
                // On Linux this applies to the calling thread only.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                return try body()
            }
        }
    }
}
