import MartletPostgres

/// Records of a spool, read and made ready to be stored together.
struct DigestBatch: Sendable {
    struct Entry: Sendable {
        let record: [UInt8]
        /// Behind it in the spool.
        let end: SpoolPosition
        /// Nil: as a newer version of the service wrote it, perhaps.
        let envelope: DigestedEnvelope?
        /// Why the record is set aside; then `envelope` only counts it. Nil: it is stored.
        let refusal: DigestionRefusal?
    }

    let move: DigestStore.Move
    let entries: [Entry]

    /// The first half and the rest; nil: it cannot be divided.
    var halves: (DigestBatch, DigestBatch)? {
        guard entries.count > 1 else { return nil }
        let count = entries.count / 2
        var (first, second) = (move, move)
        first.to = entries[count - 1].end
        second.from = first.to
        return (DigestBatch(move: first, entries: Array(entries[..<count])), DigestBatch(move: second, entries: Array(entries[count...])))
    }
}

/// Why a report is not digested.
enum DigestionRefusal: String, Error, CustomStringConvertible {
    case overBudget = "over_budget"
    case diedTwice = "died_twice"

    var description: String {
        switch self {
        case .overBudget: "Digesting the report took more CPU time than a report may take."
        case .diedTwice: "The process died twice while it digested the report."
        }
    }
}

/// Reads a spool and makes batches of it.
struct DigestReader: Sendable {
    /// More share a transaction, its statements and the rows they change: 200 issues have 2,000 counts of tags.
    private static let recordsPerBatch = 400
    private static let bytesPerBatch = 4 << 20
    /// Of what envelopes are when they are unpacked: those behind wait for the next batch.
    private static let digestedBytesPerBatch = 16 << 20
    /// So that one that waits for its symbols does not hold up all behind it.
    private static let digestedAtOnce = 4

    let spool: SpoolReader
    let digestion: EnvelopeDigestion
    let threads: DigestionThreads
    /// CPU time for a record.
    let budget: Duration

    /// What there is behind a position; nil: nothing.
    ///
    /// - Parameter end: up to where there are records; nil: to the end of the last segment.
    /// - Returns: with the segments in which there is damage.
    func batch(from start: SpoolPosition, upTo end: SpoolPosition?) async throws -> (batch: DigestBatch, damaged: [Int])? {
        if let end, start >= end { return nil }
        let portion = try spool.read(from: start, upTo: end, count: Self.recordsPerBatch, sizeInBytes: Self.bytesPerBatch)
        guard portion.end != start else { return nil }
        let digested = try await digested(zip(portion.records, portion.ends).map { (ReceivedEnvelope(record: $0), $1) })
        let entries = digested.indices.map {
            DigestBatch.Entry(record: portion.records[$0], end: portion.ends[$0], envelope: digested[$0].envelope, refusal: digested[$0].refusal)
        }
        let isWhole = entries.count == portion.records.count
        let move = DigestStore.Move(spool: spool.folder.id, from: start, to: isWhole ? portion.end : entries.last?.end ?? start)
        return (DigestBatch(move: move, entries: entries), isWhole ? portion.damaged : [])
    }

    private typealias Digested = (envelope: DigestedEnvelope?, refusal: DigestionRefusal?)

    /// In the order given, as many as there is room for, at least one. A record that a process died with is digested alone, so that another death is its fault.
    private func digested(_ envelopes: [(envelope: ReceivedEnvelope?, end: SpoolPosition)]) async throws -> [Digested] {
        try await withThrowingTaskGroup(of: (Int, Digested).self) { group in
            var digested = [Digested](repeating: (nil, nil), count: envelopes.count)
            var (running, size, count) = (0, 0, 0)
            func takeOne() async throws {
                guard let (index, result) = try await group.next() else { return }
                digested[index] = result
                running -= 1
                size += result.envelope?.report?.content.utf8.count ?? 0
            }
            for (index, (envelope, end)) in envelopes.enumerated() {
                let isAlone = spool.folder.marks.deaths(of: end) > 0
                while running >= (isAlone ? 1 : Self.digestedAtOnce) { try await takeOne() }
                guard size < Self.digestedBytesPerBatch else { break }
                count += 1
                guard let envelope else { continue }
                running += 1
                group.addTask { (index, try await self.digested(envelope, end)) }
                if isAlone { try await takeOne() }
            }
            while running > 0 { try await takeOne() }
            return Array(digested.prefix(count))
        }
    }

    private func digested(_ envelope: ReceivedEnvelope, _ end: SpoolPosition) async throws -> Digested {
        let marks = spool.folder.marks
        guard marks.deaths(of: end) < DigestionMarks.maximumDeaths else {
            return (try await digestion.refused(envelope, because: .diedTwice), .diedTwice)
        }
        let place = marks.begin(end)
        defer { marks.end(place) }
        do {
            return (try await threads.run(upTo: budget) { [digestion] in try await digestion.digest(envelope) }, nil)
        } catch is DigestionThreads.OverBudget {
            return (try await digestion.refused(envelope, because: .overBudget), .overBudget)
        }
    }
}
