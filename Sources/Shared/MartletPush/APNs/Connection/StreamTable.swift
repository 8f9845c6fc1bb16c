import NIOCore
import NIOHPACK

/// The requests under way on one connection, by stream: what came of them goes in, who is done comes out.
struct StreamTable {
    enum End: Sendable, Equatable {
        case answered(APNsAnswer)
        /// The server did not work on it.
        case refused
        /// The server may have worked on it.
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

    /// RFC 9113 §5.1.1.
    private static let highest = 0x7fff_ffff

    private var entries: [Int: Entry] = [:]
    /// In the order sent, so in that of deadlines; what has been answered lies there until it is at the front.
    private var deadlines = CircularBuffer<(stream: Int, deadline: NIODeadline)>()
    private var next = 1

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    var isUsedUp: Bool { next > Self.highest }

    /// The number of a new stream. Not to be called when the numbers are used up.
    mutating func begin(_ request: APNsRequest, deadline: NIODeadline) -> Int {
        let stream = next
        next += 2
        entries[stream] = Entry(request: request)
        deadlines.append((stream, deadline))
        return stream
    }

    /// Nil: it goes on.
    mutating func receive(_ headers: HPACKHeaders, isLast: Bool, on stream: Int) -> Ended? {
        guard entries[stream] != nil else { return nil }
        // Behind the answer's head come trailers, which say nothing.
        if entries[stream]?.answer == nil { entries[stream]?.answer = APNsAnswer(headers) }
        return isLast ? end(stream) : nil
    }

    /// What is too long is not kept: the status says enough.
    mutating func receive(_ bytes: ByteBuffer, isLast: Bool, on stream: Int) -> Ended? {
        if let size = entries[stream]?.answer?.body.count,
            size + bytes.readableBytes <= APNsAnswer.maximumBodySizeInBytes
        {
            entries[stream]?.answer?.body.append(contentsOf: bytes.readableBytesView)
        }
        return isLast ? end(stream) : nil
    }

    /// The server does not work on streams above this one (GOAWAY). The newest first.
    mutating func refuse(above last: Int) -> [Ended] {
        entries.keys.filter { $0 > last }.sorted(by: >).compactMap { end($0, .refused) }
    }

    /// The stream is closed (RST_STREAM). Nil: it had been done with.
    mutating func close(_ stream: Int, isRefused: Bool) -> Ended? { end(stream, isRefused ? .refused : .unknown) }

    /// Requests whose answers have not come in time; their streams.
    mutating func expire(at now: NIODeadline) -> [(stream: Int, ended: Ended)] {
        var expired: [(Int, Ended)] = []
        while let first = deadlines.first, first.deadline <= now || entries[first.stream] == nil {
            deadlines.removeFirst()
            if let ended = end(first.stream) { expired.append((first.stream, ended)) }
        }
        return expired
    }

    /// The connection is closed.
    mutating func endAll() -> [Ended] { entries.keys.sorted().compactMap { end($0) } }

    /// An answer whose rest is missing is one: its status says what was done.
    private mutating func end(_ stream: Int, _ end: End = .unknown) -> Ended? {
        guard let entry = entries.removeValue(forKey: stream) else { return nil }
        return Ended(request: entry.request, end: entry.answer.map { .answered($0) } ?? end)
    }
}
