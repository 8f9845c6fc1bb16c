import Logging
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// Sees to it that mail which is due has a job: what is tried again, and what was ordered while its space's job was
/// just ending. Every copy of the service may do this at any time.
struct MailWaking: Service {
    private static let interval: Duration = .seconds(2)
    /// In one look.
    private static let maximumSpaces = 1_000

    let mails: MailStore
    let jobs: JobQueue
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval * Double.random(in: 0.9...1.1))
                if Task.isCancelled { return }
                do {
                    try await wake()
                } catch {
                    logger.debug("mail was not looked for", metadata: ["error.cause": "\(error)"])
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
