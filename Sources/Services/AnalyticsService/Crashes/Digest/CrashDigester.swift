import CoreMetrics
import Foundation
import Logging
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// Reads what was accepted in order, and stores what it is: from this copy's spool, and from those that copies which died have left.
///
/// A batch is one transaction, with how far the spool was read; while it is stored the next is made ready. While PostgreSQL is away everything
/// waits in the spool. A record that cannot be digested goes to the folder `refused`, so that it does not hold up those behind it: also one that takes
/// more CPU time than a report may, or that was being digested at two deaths of the process. Digesting has threads of its own (`DigestionThreads`).
final class CrashDigester: Service {
    /// How often spools are looked for that somebody left.
    private static let adoption: Duration = .seconds(15)
    private static let longestPause: Duration = .seconds(5)
    /// How long a shutdown waits for what was accepted last.
    private static let drainTime: Duration = .seconds(5)

    let writer: SpoolWriter
    let directory: String
    let digestion: EnvelopeDigestion
    let store: DigestStore
    let threads: DigestionThreads
    /// CPU time for a record.
    let budget: Duration
    let logger: Logger
    private let setAside: SetAside
    /// How far this copy's own spool is read; nil: ask.
    private let own = Mutex<(spool: UUID, position: SpoolPosition)?>(nil)
    private let stored = Counter(label: "martlet_analytics_crash_records_total", dimensions: [("outcome", "stored")])

    init(
        writer: SpoolWriter, directory: String, digestion: EnvelopeDigestion, store: DigestStore, threads: DigestionThreads, budget: Duration, logger: Logger
    ) {
        self.writer = writer
        self.directory = directory
        self.digestion = digestion
        self.store = store
        self.threads = threads
        self.budget = budget
        self.logger = logger
        setAside = SetAside(directory: directory, logger: logger)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.work() }
        // A task of its own, as this one is cancelled.
        await Task { await self.drain() }.value
    }

    private func work() async {
        let others = Task { await self.adopt() }
        var pause: Duration = .milliseconds(100)
        while !Task.isCancelled {
            do {
                try await digestOwn()
                await news()
                pause = .milliseconds(100)
            } catch {
                logger.warning("Crash reports wait in the spool.", metadata: ["error.cause": "\(error)"])
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
        others.cancel()
        await others.value
    }

    private func news() async {
        _ = await writer.readers.wait(.seconds(1)) { [self] in
            writer.written.flatMap { $0.end > readPosition(of: $0.folder) ?? .start ? true : nil }
        }
    }

    private func readPosition(of folder: SpoolFolder) -> SpoolPosition? {
        own.withLock { own in own?.spool == folder.id ? own?.position : nil }
    }

    /// Digests this copy's own, until nothing more is there.
    func digestOwn(until end: ContinuousClock.Instant? = nil) async throws {
        guard let folder = writer.written?.folder else { return }
        let known = readPosition(of: folder)
        own.withLock { $0 = nil }
        var start = SpoolPosition.start
        if let known { start = known } else { start = try await store.position(of: folder.id) }
        own.withLock { $0 = (folder.id, start) }
        try await digest(folder, from: start, upTo: { self.writer.written?.end ?? .start }, until: end) { batch in
            // Until the answer is there, nobody knows.
            self.own.withLock { $0 = nil }
            try await self.keep(batch)
            self.own.withLock { $0 = (folder.id, batch.move.to) }
        }
    }

    /// Takes up what others left, and finishes it.
    private func adopt() async {
        while !Task.isCancelled {
            let folders = SpoolFolder.abandoned(in: directory)
            // What waits there takes room from what comes.
            writer.occupy(folders.reduce(0) { $0 + $1.sizeInBytes })
            for folder in folders {
                logger.notice("Taking up the spool of a process that is gone.", metadata: ["spool": "\(folder.id)"])
                folder.marks.takeUp()
                await finish(folder)
            }
            try? await Task.sleep(for: Self.adoption)
        }
    }

    /// Digests all of a spool that was left, and removes it.
    func finish(_ folder: SpoolFolder) async {
        var pause: Duration = .milliseconds(100)
        while !Task.isCancelled {
            do {
                let start = try await store.position(of: folder.id)
                try await digest(folder, from: start, upTo: { nil }) { batch in
                    try await self.keep(batch)
                    pause = .milliseconds(100)
                }
                guard !Task.isCancelled else { return }
                // The folder first: without its position it would be digested again.
                writer.release(folder.discard())
                return try await store.forget(folder.id)
            } catch {
                logger.warning("Crash reports wait in a spool that was left.", metadata: ["error.cause": "\(error)"])
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    /// What was accepted is stored, if there is time; else it waits for the next start.
    private func drain() async {
        let end = ContinuousClock.now + Self.drainTime
        do {
            while ContinuousClock.now < end {
                try await digestOwn(until: end)
                // Up to where it was read, and not to where it is written by now: something may have come in between.
                guard let folder = writer.written?.folder, let position = readPosition(of: folder) else { return }
                if writer.discardIfDigested(upTo: position) { return try await store.forget(folder.id) }
                try await Task.sleep(for: .milliseconds(1))
            }
        } catch {
            logger.notice("Crash reports wait in the spool for the next start.", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Digests what is behind a position, a batch after the other, and removes segments that are done with. Ends before everything is digested when
    /// this is cancelled or the time is over.
    ///
    /// - Parameter limit: up to where there are records by now; nil: to the end of the last segment.
    private func digest(
        _ folder: SpoolFolder, from start: SpoolPosition, upTo limit: @escaping @Sendable () -> SpoolPosition?, until end: ContinuousClock.Instant? = nil,
        keep: (DigestBatch) async throws -> Void
    ) async throws {
        let reader = DigestReader(spool: SpoolReader(folder: folder), digestion: digestion, threads: threads, budget: budget)
        var next = try await reader.batch(from: start, upTo: limit())
        while let (batch, damaged) = next {
            for segment in damaged {
                logger.error("A segment of the spool is damaged; what is behind the damage is lost.", metadata: ["spool": "\(folder.id)", "segment": "\(segment)"])
            }
            async let following = reader.batch(from: batch.move.to, upTo: limit())
            try await keep(batch)
            stored.increment(by: batch.entries.count)
            if batch.move.to.segment > batch.move.from.segment { writer.release(folder.remove(before: batch.move.to.segment)) }
            guard !Task.isCancelled, end.map({ ContinuousClock.now < $0 }) ?? true else { return }
            next = try await following
        }
    }

    /// All of a batch; where that fails for good its halves, down to the record that is at fault, so that those beside it are stored.
    private func keep(_ batch: DigestBatch) async throws {
        do {
            try await storeOnce(batch)
        } catch let error where Self.isLasting(error) {
            guard let (first, second) = batch.halves else {
                try setAside.put(batch.entries.map(\.record), because: error)
                return try await store.store([], moving: batch.move)
            }
            logger.warning("A batch of crash reports could not be stored; going on by halves.", metadata: ["error.cause": "\(error)"])
            try await keep(first)
            try await keep(second)
        }
    }

    private func storeOnce(_ batch: DigestBatch) async throws {
        let envelopes = batch.entries.compactMap(\.envelope)
        do {
            try await store.store(envelopes, moving: batch.move)
        } catch let error as PostgresError where error.sqlState == "23503" {
            // Something that was known has gone meanwhile: an issue that was merged, a release of a deleted app.
            store.releases.forget()
            try await store.store(envelopes, moving: batch.move)
        }
        do {
            for entry in batch.entries {
                if let refusal = entry.refusal { try setAside.put([entry.record], because: refusal) }
            }
            try setAside.put(batch.entries.filter { $0.envelope == nil }.map(\.record), because: SpoolError.unavailable(cause: "a record of another version"))
        } catch {
            // Not thrown, as the batch is committed and will not be read again.
            logger.error("Could not set aside crash reports; they are lost.", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Whether the record itself is at fault: SQLSTATE classes 22 (data), 23 (constraints) and 54 (limits). Anything else, such as a right that is
    /// missing, is of the database, and ends some day.
    private static func isLasting(_ error: any Error) -> Bool {
        guard let state = (error as? PostgresError)?.sqlState else { return false }
        return ["22", "23", "54"].contains { state.hasPrefix($0) }
    }
}
