import Foundation
import MartletHTTP
import NIOPosix
import Synchronization

/// A position in a spool: the number of a segment and an offset in bytes.
struct SpoolPosition: Sendable, Hashable, Comparable {
    var segment: Int
    var offset: Int

    static let start = SpoolPosition(segment: 0, offset: 0)

    static func < (left: SpoolPosition, right: SpoolPosition) -> Bool {
        (left.segment, left.offset) < (right.segment, right.offset)
    }
}

/// Appends records to this instance's own spool. Records that arrive while the disk is busy are written together.
final class SpoolWriter: Sendable {
    static let segmentSizeInBytes = 16 << 20
    static let maximumWaitingInBytes = 256 << 20
    private static let maximumBatchInBytes = 8 << 20

    private struct Waiting {
        var records: [[UInt8]]
        var sizeInBytes: Int
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var waiting: [Waiting] = []
        var waitingBytes = 0
        var isWriting = false
        /// Size of what is on disk and not yet digested, including digested records in segments not yet removed.
        var storedBytes = 0
        var folder: SpoolFolder?
        var end = SpoolPosition.start
    }

    private let directory: String
    private let sizeInBytes: Int
    private let write: @Sendable (SpoolFile, [UInt8]) throws -> Void
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let state = Mutex(State())
    /// Used only by the writing thread, or while nothing is being written.
    private let current = CurrentSegment()
    /// Woken whenever records were written.
    let readers = Waiters()

    private final class CurrentSegment: @unchecked Sendable {
        var file: SpoolFile?
        var lastNumber = 0
    }

    /// - Parameter write: Replaced in tests that simulate failing disks.
    init(
        directory: String, sizeInBytes: Int,
        write: @escaping @Sendable (SpoolFile, [UInt8]) throws -> Void = { try $0.append($1) }
    ) {
        self.directory = directory
        self.sizeInBytes = sizeInBytes
        self.write = write
        thread.start()
    }

    deinit { thread.shutdownGracefully { _ in } }

    /// The spool's folder and the end of its readable records; nil if nothing has been written.
    var written: (folder: SpoolFolder, end: SpoolPosition)? {
        state.withLock { state in state.folder.map { ($0, state.end) } }
    }

    /// Appends a record. When this returns, the record survives a power loss.
    ///
    /// - Throws: `SpoolError`; nothing is stored then.
    func append(_ record: [UInt8]) async throws { try await append([record]) }

    /// Appends several records, all or none.
    func append(_ records: [[UInt8]]) async throws {
        let size = records.reduce(0) { $0 + $1.count }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let (refusal, isFirst) = state.withLock { state -> (SpoolError?, Bool) in
                // A reader would treat such a record as damage and lose the records after it in the segment.
                if records.contains(where: { $0.count > SpoolRecord.maximumLength }) { return (.tooLarge, false) }
                if state.storedBytes + state.waitingBytes + size > sizeInBytes { return (.full, false) }
                if state.waitingBytes + size > Self.maximumWaitingInBytes { return (.overloaded, false) }
                state.waiting.append(Waiting(records: records, sizeInBytes: size, continuation: continuation))
                state.waitingBytes += size
                defer { state.isWriting = true }
                return (nil, !state.isWriting)
            }
            if let refusal { return continuation.resume(throwing: refusal) }
            if isFirst { thread.submit { _ in self.drain() } }
        }
    }

    /// Adds the size of segments taken over from other processes.
    func occupy(_ sizeInBytes: Int) {
        state.withLock { $0.storedBytes += sizeInBytes }
    }

    /// Subtracts the size of removed segments.
    func release(_ sizeInBytes: Int) {
        state.withLock { $0.storedBytes = max(0, $0.storedBytes - sizeInBytes) }
    }

    /// Removes the folder if everything up to its end is digested; a later append creates another. Returns false if
    /// records have arrived meanwhile.
    func discardIfDigested(upTo position: SpoolPosition) -> Bool {
        state.withLock { state in
            guard !state.isWriting, state.waiting.isEmpty, state.end <= position else { return false }
            state.folder?.discard()
            state.folder = nil
            state.end = .start
            state.storedBytes = 0
            current.file = nil
            current.lastNumber = 0
            return true
        }
    }

    /// Writes until no record is waiting.
    private func drain() {
        while let batch = takeBatch() {
            do {
                try write(batch.flatMap(\.records))
                for waiting in batch { waiting.continuation.resume() }
                readers.wake()
            } catch {
                // The next batch goes to a new segment, whatever this one now contains.
                current.file?.removeIfEmpty()
                current.file = nil
                for waiting in batch { waiting.continuation.resume(throwing: error) }
            }
        }
    }

    private func takeBatch() -> [Waiting]? {
        state.withLock { state in
            var (count, size) = (0, 0)
            for waiting in state.waiting {
                if count > 0, size + waiting.sizeInBytes > Self.maximumBatchInBytes { break }
                count += 1
                size += waiting.sizeInBytes
            }
            guard count > 0 else {
                state.isWriting = false
                return nil
            }
            let batch = Array(state.waiting.prefix(count))
            state.waiting.removeFirst(count)
            state.waitingBytes -= size
            return batch
        }
    }

    private func write(_ records: [[UInt8]]) throws {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(records.reduce(0) { $0 + $1.count + SpoolRecord.headerLength })
        for record in records { SpoolRecord.append(record, to: &bytes) }
        let folder = try state.withLock { state in
            if let folder = state.folder { return folder }
            let folder = try SpoolFolder.make(in: directory)
            state.folder = folder
            return folder
        }
        let file = try segment(in: folder)
        try write(file, bytes)
        state.withLock { state in
            state.end = SpoolPosition(segment: file.number, offset: file.length)
            state.storedBytes += bytes.count
        }
    }

    private func segment(in folder: SpoolFolder) throws -> SpoolFile {
        if let file = current.file, file.length < Self.segmentSizeInBytes { return file }
        current.lastNumber += 1
        let file = try SpoolFile(current.lastNumber, in: folder)
        current.file = file
        return file
    }
}
