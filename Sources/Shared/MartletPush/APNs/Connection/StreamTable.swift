import NIOCore
import NIOHPACK

/// The outstanding requests of one connection, by stream: events go in, finished requests come out.
struct StreamTable {
    enum End: Sendable, Equatable {
        case answered(APNsAnswer)
        /// The server did not process it.
        case refused
        /// The server may have processed it.
        case unknown
    }

    struct Ended: Sendable {
        var request: APNsRequest
        var end: End
    }

    private struct Entry {
        var request: APNsRequest
        var answer: APNsAnswer?
    }

    /// The highest stream identifier (RFC 9113 §5.1.1).
    private static let highest = 0x7fff_ffff

    private var entries: [Int: Entry] = [:]
    /// In the order of sending, which is also that of the deadlines; answered requests remain until they reach the
    /// front.
    private var deadlines = CircularBuffer<(stream: Int, deadline: NIODeadline)>()
    private var next = 1

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    var isUsedUp: Bool { next > Self.highest }

    /// Returns the identifier of a new stream. Must not be called once `isUsedUp`.
    mutating func begin(_ request: APNsRequest, deadline: NIODeadline) -> Int {
        let stream = next
        next += 2
        entries[stream] = Entry(request: request)
        deadlines.append((stream, deadline))
        return stream
    }

    /// Nil unless the request is finished.
    mutating func receive(_ headers: HPACKHeaders, isLast: Bool, on stream: Int) -> Ended? {
        guard entries[stream] != nil else { return nil }
        // Headers after those of the answer are trailers, which carry no information.
        if entries[stream]?.answer == nil { entries[stream]?.answer = APNsAnswer(headers) }
        return isLast ? end(stream) : nil
    }

    /// Bytes beyond the limit are dropped, because the status is sufficient. Nil unless the request is finished.
    mutating func receive(_ bytes: ByteBuffer, isLast: Bool, on stream: Int) -> Ended? {
        if let size = entries[stream]?.answer?.body.count,
            size + bytes.readableBytes <= APNsAnswer.maximumBodySizeInBytes
        {
            entries[stream]?.answer?.body.append(contentsOf: bytes.readableBytesView)
        }
        return isLast ? end(stream) : nil
    }

    /// Ends the requests that the server will not process (GOAWAY), newest first.
    mutating func refuse(above last: Int) -> [Ended] {
        entries.keys.filter { $0 > last }.sorted(by: >).compactMap { end($0, .refused) }
    }

    /// Ends the request of a closed stream (RST_STREAM); nil if it had already ended.
    mutating func close(_ stream: Int, isRefused: Bool) -> Ended? { end(stream, isRefused ? .refused : .unknown) }

    /// Ends the requests whose answers are overdue, and returns them with their streams.
    mutating func expire(at now: NIODeadline) -> [(stream: Int, ended: Ended)] {
        var expired: [(Int, Ended)] = []
        while let first = deadlines.first, first.deadline <= now || entries[first.stream] == nil {
            deadlines.removeFirst()
            if let ended = end(first.stream) { expired.append((first.stream, ended)) }
        }
        return expired
    }

    /// Ends all requests, because the connection is closed.
    mutating func endAll() -> [Ended] { entries.keys.sorted().compactMap { end($0) } }

    /// An incomplete answer counts as one: its status says what was done.
    private mutating func end(_ stream: Int, _ end: End = .unknown) -> Ended? {
        guard let entry = entries.removeValue(forKey: stream) else { return nil }
        return Ended(request: entry.request, end: entry.answer.map { .answered($0) } ?? end)
    }
}
