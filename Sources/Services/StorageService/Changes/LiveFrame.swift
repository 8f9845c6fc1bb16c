import Foundation
import MartletAPI
import MartletHTTP
import NIOCore

/// Text of a stream of server-sent events, made once for all who get it.
struct LiveFrame: Sendable {
    private(set) var buffer: ByteBuffer

    init(minimumCapacity: Int = 0) {
        buffer = ByteBufferAllocator().buffer(capacity: minimumCapacity)
    }

    var size: Int { buffer.readableBytes }

    mutating func append(_ texts: String...) {
        for text in texts { buffer.writeString(text) }
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        buffer.writeBytes(bytes)
    }

    /// The first: how soon to come back after a break, and the cursor to come back with.
    static func hello(_ cursor: String) -> LiveFrame {
        var frame = LiveFrame()
        frame.append("retry: 1000\nid: ", cursor, "\nevent: open\ndata: {\"cursor\":\"", cursor, "\"}\n\n")
        return frame
    }

    /// Keeps the connection and moves the cursor on; no event for the client's program.
    static func heartbeat(_ cursor: String) -> LiveFrame {
        var frame = LiveFrame()
        frame.append(": \nid: ", cursor, "\n\n")
        return frame
    }

    /// The last, when the stream is not to be taken up again as it was.
    static func error(_ problem: HTTPProblem) -> LiveFrame {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = (try? encoder.encode(Problem(problem.code, detail: problem.detail, field: problem.field, requestId: nil))) ?? Data()
        var frame = LiveFrame()
        frame.append("event: error\ndata: ", String(decoding: body, as: UTF8.self), "\n\n")
        return frame
    }
}
