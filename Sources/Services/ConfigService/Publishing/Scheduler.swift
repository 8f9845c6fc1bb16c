import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import ServiceLifecycle

/// Publishes scheduled documents, about once a second. Every instance runs this service; the first one to mark a row
/// publishes its document in the same transaction.
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
                    logger.debug("Could not read due publications; retrying.", metadata: ["error.cause": "\(error)"])
                }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// A temporary failure does not hold up the publications after this one.
    private func attempt(_ due: ScheduleStore.Due) async {
        do {
            try await publish(due)
        } catch {
            logger.warning("Could not publish a scheduled document; retrying.", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Marks a refused publication as failed, because it would be refused again. Other failures are retried.
    private func publish(_ due: ScheduleStore.Due) async throws {
        do {
            try await publisher.publish(due)
        } catch let problem as ServiceError where problem.isCallersFault {
            let findings = problem.findings?.filter { $0.severity == .error }.map { "\($0.path): \($0.message)" } ?? []
            try await schedules.fail(
                due.id, because: ([problem.detail ?? problem.code.title] + findings).joined(separator: "\n"))
            logger.warning(
                "A scheduled document was refused; its publication has failed.",
                metadata: [
                    "document.kind": "\(due.key.kind.rawValue)", "document.name": "\(due.key.name)",
                    "error.cause": "\(problem.code.rawValue)",
                ])
        }
    }
}

extension Publisher {
    /// Publishes the draft as it was when it was scheduled. Does nothing if it was published or cancelled in the
    /// meantime.
    fileprivate func publish(_ due: ScheduleStore.Due) async throws {
        let request = Request(key: due.key, space: due.space, note: due.note, author: due.author)
        _ = try await run(request) { document, space, transaction in
            guard try await ScheduleStore.complete(due.id, transaction) else { return "" }
            let published = try await add(due.content, request, document, space, .schedule, transaction)
            try await ScheduleStore.record(version: published.version, of: due.id, transaction)
            return published.json
        }
    }
}
