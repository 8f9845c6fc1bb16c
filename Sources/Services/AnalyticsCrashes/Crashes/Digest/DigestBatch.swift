import MartletPostgres

/// Records of a spool that were digested and will be stored together.
struct DigestBatch: Sendable {
    struct Entry: Sendable {
        let record: [UInt8]
        /// The position after the record in the spool.
        let end: SpoolPosition
        /// Nil if the record could not be read, for example because a newer version wrote it.
        let envelope: DigestedEnvelope?
        /// Why the record is set aside, in which case `envelope` only counts it. Nil if it is stored.
        let refusal: DigestionRefusal?
    }

    let move: DigestStore.Move
    let entries: [Entry]

    /// The two halves; nil if the batch has fewer than two records.
    var halves: (DigestBatch, DigestBatch)? {
        guard entries.count > 1 else { return nil }
        let count = entries.count / 2
        var (first, second) = (move, move)
        first.to = entries[count - 1].end
        second.from = first.to
        return (
            DigestBatch(move: first, entries: Array(entries[..<count])),
            DigestBatch(move: second, entries: Array(entries[count...]))
        )
    }
}

/// Why a report was not digested.
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

/// Reads a spool in batches.
struct DigestReader: Sendable {
    /// Larger batches spread the cost of a transaction over more records. They also change fewer rows per record,
    /// because reports of one issue update the same rows, such as its tag counts.
    private static let recordsPerBatch = 400
    private static let bytesPerBatch = 4 << 20
    /// Limits the decompressed size of a batch; further envelopes wait for the next one.
    private static let digestedBytesPerBatch = 16 << 20
    /// More than one, so that an envelope waiting for its symbols does not hold up the others.
    private static let maximumConcurrentDigestions = 4

    let spool: SpoolReader
    let digestion: EnvelopeDigestion
    let threads: DigestionThreads
    /// CPU time limit per record.
    let budget: Duration

    /// The next batch after a position; nil if there are no more records.
    ///
    /// - Parameter end: The current end of the records; nil means the end of the last segment.
    /// - Returns: The batch with the numbers of damaged segments.
    func batch(from start: SpoolPosition, upTo end: SpoolPosition?) async throws -> (
        batch: DigestBatch, damaged: [Int]
    )? {
        if let end, start >= end { return nil }
        let portion = try spool.read(
            from: start, upTo: end, count: Self.recordsPerBatch, sizeInBytes: Self.bytesPerBatch)
        guard portion.end != start else { return nil }
        let digested = try await digested(zip(portion.records, portion.ends).map { (ReceivedEnvelope(record: $0), $1) })
        let entries = digested.indices.map {
            DigestBatch.Entry(
                record: portion.records[$0], end: portion.ends[$0], envelope: digested[$0].envelope,
                refusal: digested[$0].refusal)
        }
        let isWhole = entries.count == portion.records.count
        let move = DigestStore.Move(
            spool: spool.folder.id, from: start, to: isWhole ? portion.end : entries.last?.end ?? start)
        return (DigestBatch(move: move, entries: entries), isWhole ? portion.damaged : [])
    }

    private typealias Digested = (envelope: DigestedEnvelope?, refusal: DigestionRefusal?)

    /// Digests as many envelopes as fit into a batch, at least one, in the given order. If a process has died while
    /// digesting a record, the record is digested alone, so that another death can be attributed to this record.
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
                while running >= (isAlone ? 1 : Self.maximumConcurrentDigestions) { try await takeOne() }
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
        let slot = marks.begin(end)
        defer { marks.end(slot) }
        do {
            return (try await threads.run(upTo: budget) { [digestion] in try await digestion.digest(envelope) }, nil)
        } catch is DigestionThreads.OverBudget {
            return (try await digestion.refused(envelope, because: .overBudget), .overBudget)
        }
    }
}
