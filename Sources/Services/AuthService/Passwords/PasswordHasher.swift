import Glibc
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import NIOPosix
public import ServiceLifecycle
import Synchronization

/// Makes and checks hashes on threads of its own, few at a time: each takes 19 MiB and some 20 ms of a core.
///
/// The threads give way to all others (`nice` 10), so that a flood of log-ins does not stop the rest of the machine.
public final class PasswordHasher: Service {
    /// Half the cores: what is left serves everything else.
    public static var defaultConcurrency: Int { max(1, System.coreCount / 2) }

    private let pool: NIOThreadPool
    private let semaphore: AsyncSemaphore
    private let running = Atomic(false)
    /// The hash of a password that nobody knows, for accounts that do not exist.
    let decoy: String

    /// - Parameters:
    ///   - concurrency: hashes at a time.
    ///   - maximumWaiting: further ones are refused with `too-many-requests`.
    init(concurrency: Int, maximumWaiting: Int = 64) {
        pool = NIOThreadPool(numberOfThreads: concurrency)
        semaphore = AsyncSemaphore(
            limit: concurrency, maximumWaiting: maximumWaiting,
            refusal: HTTPProblem(.tooManyRequests, "Too many people sign in at this moment: try again."))
        decoy = PasswordHash.makeDecoy()
    }

    /// Before that nothing is hashed.
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

    /// Takes the same time whether there is a hash or not.
    func verify(_ password: Secret, against hash: String?) async throws -> Bool {
        let decoy = decoy
        let matches = try await onThread { PasswordHash.verify(password, against: hash ?? decoy) }
        return matches && hash != nil
    }

    private func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await semaphore.withPermit {
            try await pool.runIfActive {
                // Of this thread alone, as Linux has it.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                return try body()
            }
        }
    }
}
