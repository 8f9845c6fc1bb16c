import Logging
import MartletAPI
import MartletHTTP
import ServiceLifecycle

/// Publishes what is due, about once a second. Any copy may: the one that marks a row first does it, in one
/// transaction.
struct Scheduler: Service {
    private static let interval: Duration = .seconds(1)

    let schedules: ScheduleStore
    let publisher: Publisher
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    for due in try await schedules.due(limit: 20) { await attempt(due) }
                } catch {
                    logger.debug("schedules not read", metadata: ["error.cause": "\(error)"])
                }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// One that fails for now does not hold up those behind it.
    private func attempt(_ due: ScheduleStore.Due) async {
        do {
            try await publish(due)
        } catch {
            logger.warning("What is due could not be published yet.", metadata: ["error.cause": "\(error)"])
        }
    }

    /// What is refused will be refused again: it is marked as failed. What could not be done now is tried again.
    private func publish(_ due: ScheduleStore.Due) async throws {
        do {
            try await publisher.publish(due)
        } catch let problem as HTTPProblem where problem.code.status < 500 {
            let findings = problem.findings?.filter { $0.severity == .error }.map { "\($0.path): \($0.message)" } ?? []
            try await schedules.fail(
                due.id, because: ([problem.detail ?? problem.code.title] + findings).joined(separator: "\n"))
            logger.warning(
                "What was scheduled could not be published.",
                metadata: [
                    "document.kind": "\(due.key.kind.rawValue)", "document.name": "\(due.key.name)",
                    "error.cause": "\(problem.code.rawValue)",
                ])
        }
    }
}

extension Publisher {
    /// Publishes a draft as it was when its publication was scheduled; nothing, when that was done or cancelled
    /// meanwhile.
    fileprivate func publish(_ due: ScheduleStore.Due) async throws {
        let request = Request(key: due.key, space: due.space, note: due.note, author: due.author)
        _ = try await run(request) { document, space, transaction in
            guard try await ScheduleStore.complete(due.id, transaction) else { return "" }
            let published = try await add(due.content, request, document, space, .schedule, transaction)
            try await ScheduleStore.note(version: published.version, of: due.id, transaction)
            return published.json
        }
    }
}
