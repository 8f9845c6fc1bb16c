import CoreMetrics
import Foundation
import Logging
import MartletCore
import MartletHTTP
import MartletPostgres
import ServiceLifecycle
import Synchronization

/// Reads what was accepted in order, and stores what it is: from this copy's spool, and from those that copies which died have left.
///
/// While PostgreSQL is away everything waits in the spool. A record that nothing can be done with goes to the folder `refused`, so that those
/// behind it are not held up.
final class CrashDigester: Service {
    static let recordsPerBatch = 100
    private static let bytesPerBatch = 4 << 20
    private static let digestedAtOnce = 4
    /// How often spools are looked for that somebody left.
    private static let adoption: Duration = .seconds(15)
    private static let longestPause: Duration = .seconds(5)
    /// Of what is set aside, for all copies together.
    private static let maximumSetAsideInBytes = 256 << 20
    /// How long a shutdown waits for what was accepted last.
    private static let drainTime: Duration = .seconds(5)

    let writer: SpoolWriter
    let directory: String
    let digestion: EnvelopeDigestion
    let store: DigestStore
    let logger: Logger
    /// How far this copy's own spool is read; nil: ask.
    private let own = Mutex<(spool: UUID, position: SpoolPosition)?>(nil)
    private let stored = Counter(label: "martlet_analytics_crash_records_total", dimensions: [("outcome", "stored")])
    private let setAside = Counter(label: "martlet_analytics_crash_records_total", dimensions: [("outcome", "refused")])

    init(writer: SpoolWriter, directory: String, digestion: EnvelopeDigestion, store: DigestStore, logger: Logger) {
        self.writer = writer
        self.directory = directory
        self.digestion = digestion
        self.store = store
        self.logger = logger
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
                if try await digestOwn() == 0 { await news() }
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

    /// Digests a batch of this copy's own; returns of how many records.
    func digestOwn() async throws -> Int {
        guard let (folder, end) = writer.written else { return 0 }
        let known = readPosition(of: folder)
        own.withLock { $0 = nil }
        var start = SpoolPosition.start
        if let known { start = known } else { start = try await store.position(of: folder.id) }
        let (count, position) = try await digest(SpoolReader(folder: folder), from: start, upTo: end)
        own.withLock { $0 = (folder.id, position) }
        if position.segment > start.segment { writer.release(folder.remove(before: position.segment)) }
        return count
    }

    /// Takes up what others left, and finishes it.
    private func adopt() async {
        while !Task.isCancelled {
            let folders = SpoolFolder.abandoned(in: directory)
            // What waits there takes room from what comes.
            writer.occupy(folders.reduce(0) { $0 + $1.sizeInBytes })
            for folder in folders {
                logger.notice("Taking up the spool of a process that is gone.", metadata: ["spool": "\(folder.id)"])
                await finish(folder)
            }
            try? await Task.sleep(for: Self.adoption)
        }
    }

    private func finish(_ folder: SpoolFolder) async {
        var pause: Duration = .milliseconds(100)
        while !Task.isCancelled {
            do {
                let (count, position) = try await digest(SpoolReader(folder: folder), from: try await store.position(of: folder.id), upTo: nil)
                writer.release(folder.remove(before: position.segment))
                pause = .milliseconds(100)
                guard count == 0 else { continue }
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
                guard try await digestOwn() == 0 else { continue }
                // Up to where it was read, and not to where it is written by now: something may have come in between.
                guard let folder = writer.written?.folder, let position = readPosition(of: folder) else { return }
                if writer.discardIfDigested(upTo: position) { return try await store.forget(folder.id) }
            }
        } catch {
            logger.notice("Crash reports wait in the spool for the next start.", metadata: ["error.cause": "\(error)"])
        }
    }

    /// Digests a batch behind where the spool was read to; returns its records, and where it is read to now.
    private func digest(_ reader: SpoolReader, from start: SpoolPosition, upTo end: SpoolPosition?) async throws -> (count: Int, position: SpoolPosition) {
        if let end, start >= end { return (0, start) }
        let portion = try reader.read(from: start, upTo: end, count: Self.recordsPerBatch, sizeInBytes: Self.bytesPerBatch)
        for segment in portion.damaged {
            logger.error("A segment of the spool is damaged; what is behind the damage is lost.", metadata: ["spool": "\(reader.folder.id)", "segment": "\(segment)"])
        }
        guard portion.end != start else { return (0, start) }
        do {
            try await keep(portion.records, DigestStore.Move(spool: reader.folder.id, from: start, to: portion.end))
        } catch let error where Self.isLasting(error) {
            try await digestSingly(reader, from: start, upTo: portion.end, because: error)
        }
        stored.increment(by: portion.records.count)
        return (max(1, portion.records.count), portion.end)
    }

    private func keep(_ records: [[UInt8]], _ move: DigestStore.Move) async throws {
        let received = records.map { (record: $0, envelope: ReceivedEnvelope(record: $0)) }
        let digested = try await digested(received.compactMap(\.envelope))
        do {
            try await store.store(digested, moving: move)
        } catch let error as PostgresError where error.sqlState == "23503" {
            // Something that was known has gone meanwhile: an issue that was merged, a release of a deleted app.
            store.releases.forget()
            try await store.store(digested, moving: move)
        }
        await joinFeedback(digested)
        // As a newer version of the service wrote it, perhaps.
        let unknown = received.filter { $0.envelope == nil }.map(\.record)
        if !unknown.isEmpty { try refuse(unknown, SpoolError.unavailable(cause: "a record of another version")) }
    }

    /// What was said of a report before it came.
    private func joinFeedback(_ digested: [DigestedEnvelope]) async {
        for (space, reports) in Dictionary(grouping: digested.compactMap(\.report), by: \.space) {
            do {
                try await digestion.helpers.joinFeedback(reports.map(\.eventID), space)
            } catch {
                // The reports are stored; somebody can attach the issue to the ticket by hand.
                logger.warning("Feedback was not joined with its report.", metadata: ["error.cause": "\(error)"])
            }
        }
    }

    /// In the order given. A few at a time, so that one that waits for its symbols does not hold up all behind it.
    private func digested(_ envelopes: [ReceivedEnvelope]) async throws -> [DigestedEnvelope] {
        try await withThrowingTaskGroup(of: (Int, DigestedEnvelope).self) { group in
            var digested = [DigestedEnvelope?](repeating: nil, count: envelopes.count)
            for (index, envelope) in envelopes.enumerated() {
                if index >= Self.digestedAtOnce, let (done, result) = try await group.next() { digested[done] = result }
                group.addTask { [digestion] in (index, try await digestion.digest(envelope)) }
            }
            for try await (done, result) in group { digested[done] = result }
            return digested.compactMap(\.self)
        }
    }

    /// One by one, so that those beside the one that fails are stored.
    private func digestSingly(_ reader: SpoolReader, from start: SpoolPosition, upTo end: SpoolPosition, because cause: any Error) async throws {
        logger.warning("A batch of crash reports could not be stored; going on one by one.", metadata: ["error.cause": "\(cause)"])
        var position = start
        while position < end {
            let portion = try reader.read(from: position, upTo: end, count: 1, sizeInBytes: 1)
            guard portion.end != position else { return }
            let move = DigestStore.Move(spool: reader.folder.id, from: position, to: portion.end)
            do {
                try await keep(portion.records, move)
            } catch let error where Self.isLasting(error) {
                try refuse(portion.records, error)
                try await store.store([], moving: move)
            }
            position = portion.end
        }
    }

    /// Kept beside the spools, for a person to look at.
    private func refuse(_ records: [[UInt8]], _ error: any Error) throws {
        setAside.increment(by: records.count)
        logger.error("A crash report could not be stored and is set aside.", metadata: ["error.cause": "\(error)"])
        let folder = directory + "/refused"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        // Enough to see what is wrong.
        guard files.count < 1_000 else { return }
        var size = files.reduce(0) { $0 + ((try? FileManager.default.attributesOfItem(atPath: "\(folder)/\($1)")[.size] as? Int) ?? 0) }
        for record in records where size + record.count <= Self.maximumSetAsideInBytes {
            try Data(record).write(to: URL(fileURLWithPath: folder + "/" + UUID().uuidString.lowercased()))
            size += record.count
        }
    }

    /// Whether the record itself is at fault: SQLSTATE classes 22 (data), 23 (constraints) and 54 (limits). Anything else, such as a right that is
    /// missing, is of the database, and ends some day.
    private static func isLasting(_ error: any Error) -> Bool {
        guard let state = (error as? PostgresError)?.sqlState else { return false }
        return ["22", "23", "54"].contains { state.hasPrefix($0) }
    }
}
