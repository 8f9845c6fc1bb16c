import Logging
import MartletBackground
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// Enqueues a job for each space with due mail: for retries, and for mail ordered while the space's job was ending. Any
/// number of instances may run this at any time.
struct MailWaker: Service {
    private static let interval: Duration = .seconds(2)
    /// The limit per round.
    private static let maximumSpaces = 1_000

    let mails: MailStore
    let jobs: JobQueue
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await NotifiedLoop(every: Self.interval, jitter: 0.9...1.1, startsAtOnce: false).run {
                await attempt("Could not read which spaces have due mail; retrying.", level: .debug, logger: logger) {
                    try await wake()
                }
            }
        }
    }

    func wake() async throws {
        for space in try await mails.waitingSpaces(limit: Self.maximumSpaces, job: SendAppMail.kind) {
            try await jobs.enqueue(SendAppMail.self, .init(space: space), SendAppMail.options(of: space))
        }
    }
}
