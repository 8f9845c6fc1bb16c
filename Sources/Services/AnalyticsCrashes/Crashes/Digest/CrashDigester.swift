import CoreMetrics
import Foundation
import Logging
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// Reads accepted envelopes in order and stores their contents: from this instance's spool, and from the spools of
/// processes that have died.
///
/// Each batch is one transaction, which also advances the spool's read position; the next batch is prepared meanwhile.
/// While PostgreSQL is unavailable, all records wait in the spool. A record that cannot be digested is moved to the
/// folder `refused`, so that it does not block the records after it. The same happens to a record that exceeds the CPU
/// budget of a report, or that was being digested when the process died for the second time. Digestion has its own
/// threads (`DigestionThreads`).
final class CrashDigester: Service {
    /// How often to look for abandoned spools.
    private static let takeoverInterval: Duration = .seconds(15)
    private static let longestPause: Duration = .seconds(5)
    /// How long a shutdown waits for the last accepted envelopes to be stored.
    private static let drainTime: Duration = .seconds(5)

    let writer: SpoolWriter
    let directory: String
    let digestion: EnvelopeDigestion
    let store: DigestStore
    let threads: DigestionThreads
    /// CPU time limit per record.
    let budget: Duration
    let logger: Logger
    private let quarantine: Quarantine
    /// The read position in this instance's own spool; nil if it must be read from the database.
    private let own = Mutex<(spool: UUID, position: SpoolPosition)?>(nil)
    private let stored = Counter(label: "martlet_analytics_crash_records_total", dimensions: [("outcome", "stored")])

    init(
        writer: SpoolWriter, directory: String, digestion: EnvelopeDigestion, store: DigestStore,
        threads: DigestionThreads, budget: Duration, logger: Logger
    ) {
        self.writer = writer
        self.directory = directory
        self.digestion = digestion
        self.store = store
        self.threads = threads
        self.budget = budget
        self.logger = logger
        quarantine = Quarantine(directory: directory, logger: logger)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.work() }
        // A separate task, because the current task is cancelled.
        await Task { await self.drain() }.value
    }

    private func work() async {
        let takeover = Task { await self.takeOverAbandoned() }
        var pause: Duration = .milliseconds(100)
        while !Task.isCancelled {
            do {
                try await digestOwn()
                await waitForRecords()
                pause = .milliseconds(100)
            } catch {
                logger.warning(
                    "Could not store crash reports; they stay in the spool and are retried.",
                    metadata: ["error.cause": "\(error)"])
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
        takeover.cancel()
        await takeover.value
    }

    private func waitForRecords() async {
        _ = await writer.readers.wait(.seconds(1)) { [self] in
            writer.written.flatMap { $0.end > readPosition(of: $0.folder) ?? .start ? true : nil }
        }
    }

    private func readPosition(of folder: SpoolFolder) -> SpoolPosition? {
        own.withLock { own in own?.spool == folder.id ? own?.position : nil }
    }

    /// Digests this instance's own spool until nothing is left.
    func digestOwn(until end: ContinuousClock.Instant? = nil) async throws {
        guard let folder = writer.written?.folder else { return }
        let known = readPosition(of: folder)
        own.withLock { $0 = nil }
        var start = SpoolPosition.start
        if let known { start = known } else { start = try await store.position(of: folder.id) }
        own.withLock { $0 = (folder.id, start) }
        try await digest(folder, from: start, upTo: { self.writer.written?.end ?? .start }, until: end) { batch in
            // Until the store answers, the new position is unknown.
            self.own.withLock { $0 = nil }
            try await self.storeOrSplit(batch)
            self.own.withLock { $0 = (folder.id, batch.move.to) }
        }
    }

    /// Takes over abandoned spools and finishes them.
    private func takeOverAbandoned() async {
        while !Task.isCancelled {
            let folders = SpoolFolder.abandoned(in: directory)
            // Abandoned spools count towards the size limit.
            writer.occupy(folders.reduce(0) { $0 + $1.sizeInBytes })
            for folder in folders {
                logger.notice("Taking over the spool of a process that is gone.", metadata: ["spool": "\(folder.id)"])
                folder.marks.recover()
                await finish(folder)
            }
            try? await Task.sleep(for: Self.takeoverInterval)
        }
    }

    /// Digests all of an abandoned spool and removes it.
    func finish(_ folder: SpoolFolder) async {
        var pause: Duration = .milliseconds(100)
        while !Task.isCancelled {
            do {
                let start = try await store.position(of: folder.id)
                try await digest(folder, from: start, upTo: { nil }) { batch in
                    try await self.storeOrSplit(batch)
                    pause = .milliseconds(100)
                }
                guard !Task.isCancelled else { return }
                // Remove the folder first: without its position, it would be digested again.
                writer.release(folder.discard())
                return try await store.forget(folder.id)
            } catch {
                logger.warning(
                    "Could not store the crash reports of an abandoned spool; retrying.",
                    metadata: ["error.cause": "\(error)"])
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    /// Stores accepted envelopes as far as time permits; the rest stays in the spool until the next start.
    private func drain() async {
        let end = ContinuousClock.now + Self.drainTime
        do {
            while ContinuousClock.now < end {
                try await digestOwn(until: end)
                // Discard up to the read position, not to the current end: more records may have arrived in between.
                guard let folder = writer.written?.folder, let position = readPosition(of: folder) else { return }
                if writer.discardIfDigested(upTo: position) { return try await store.forget(folder.id) }
                try await Task.sleep(for: .milliseconds(1))
            }
        } catch {
            logger.notice(
                "Could not store all crash reports; they stay in the spool until the next start.",
                metadata: ["error.cause": "\(error)"])
        }
    }

    /// Digests the records after a position batch by batch, and removes finished segments. Stops early when the task is
    /// cancelled or the time is up.
    ///
    /// - Parameter limit: The current end of the records; nil means the end of the last segment.
    private func digest(
        _ folder: SpoolFolder, from start: SpoolPosition, upTo limit: @escaping @Sendable () -> SpoolPosition?,
        until end: ContinuousClock.Instant? = nil,
        storing: (DigestBatch) async throws -> Void
    ) async throws {
        let reader = DigestReader(
            spool: SpoolReader(folder: folder), digestion: digestion, threads: threads, budget: budget)
        var next = try await reader.batch(from: start, upTo: limit())
        while let (batch, damaged) = next {
            for segment in damaged {
                logger.error(
                    "A spool segment is damaged; the records after the damage are lost.",
                    metadata: ["spool": "\(folder.id)", "segment": "\(segment)"])
            }
            async let following = reader.batch(from: batch.move.to, upTo: limit())
            try await storing(batch)
            stored.increment(by: batch.entries.count)
            if batch.move.to.segment > batch.move.from.segment {
                writer.release(folder.remove(before: batch.move.to.segment))
            }
            guard !Task.isCancelled, end.map({ ContinuousClock.now < $0 }) ?? true else { return }
            next = try await following
        }
    }

    /// Stores a batch. If that fails permanently, stores the halves of the batch separately, and so on down to the
    /// faulty record, so that all other records are stored.
    private func storeOrSplit(_ batch: DigestBatch) async throws {
        do {
            try await storeOnce(batch)
        } catch let error where Self.isPermanent(error) {
            guard let (first, second) = batch.halves else {
                try quarantine.put(batch.entries.map(\.record), because: error)
                return try await store.store([], moving: batch.move)
            }
            logger.warning(
                "Could not store a batch of crash reports; retrying with its halves.",
                metadata: ["error.cause": "\(error)"])
            try await storeOrSplit(first)
            try await storeOrSplit(second)
        }
    }

    private func storeOnce(_ batch: DigestBatch) async throws {
        let envelopes = batch.entries.compactMap(\.envelope)
        do {
            try await store.store(envelopes, moving: batch.move)
        } catch let error as PostgresError where error.sqlState == "23503" {
            // A cached row is gone: a merged issue, or a release of a deleted app.
            store.releases.forget()
            try await store.store(envelopes, moving: batch.move)
        }
        do {
            for entry in batch.entries {
                if let refusal = entry.refusal { try quarantine.put([entry.record], because: refusal) }
            }
            try quarantine.put(
                batch.entries.filter { $0.envelope == nil }.map(\.record),
                because: SpoolError.unavailable(cause: "a record written by another version"))
        } catch {
            // Not rethrown, because the batch is committed and will not be read again.
            logger.error("Could not set aside crash reports; they are lost.", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Whether the record itself is at fault: SQLSTATE classes 22 (data), 23 (constraints) and 54 (limits). Any other
    /// error, such as a missing privilege, lies with the database and can be fixed there.
    private static func isPermanent(_ error: any Error) -> Bool {
        guard let state = (error as? PostgresError)?.sqlState else { return false }
        return ["22", "23", "54"].contains { state.hasPrefix($0) }
    }
}
