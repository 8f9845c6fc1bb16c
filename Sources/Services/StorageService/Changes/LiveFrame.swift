import Foundation
import MartletAPI
import MartletCore
import NIOCore

/// A part of a stream of server-sent events, encoded once for all subscribers.
struct LiveFrame: Sendable {
    /// The text as a chunk of an HTTP/1.1 body (RFC 9112 §7.1), its size in eight digits.
    let chunk: ByteBuffer

    private static let sizeLength = 10

    init(minimumCapacity: Int = 256, _ write: (inout ByteBuffer) -> Void) {
        var chunk = ByteBufferAllocator().buffer(capacity: minimumCapacity + Self.sizeLength + 2)
        chunk.writeRepeatingByte(0, count: Self.sizeLength)
        write(&chunk)
        let size = String(chunk.readableBytes - Self.sizeLength, radix: 16)
        chunk.setString(String(repeating: "0", count: 8 - size.utf8.count) + size + "\r\n", at: 0)
        chunk.writeStaticString("\r\n")
        self.chunk = chunk
    }

    /// The text without the chunk's framing.
    var buffer: ByteBuffer { chunk.getSlice(at: Self.sizeLength, length: size) ?? ByteBuffer() }

    /// Equal for copies of the same frame, as long as one of them exists.
    var identity: UInt { chunk.withVeryUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }

    var size: Int { chunk.readableBytes - Self.sizeLength - 2 }

    /// The first frame: the reconnection delay and the initial cursor.
    static func hello(_ cursor: String) -> LiveFrame {
        LiveFrame { $0.append("retry: 1000\nid: ", cursor, "\nevent: open\ndata: {\"cursor\":\"", cursor, "\"}\n\n") }
    }

    /// Keeps the connection open and advances the cursor, without an event for the client's program.
    static func heartbeat(_ cursor: String) -> LiveFrame {
        LiveFrame { $0.append(": \nid: ", cursor, "\n\n") }
    }

    /// The last frame of a stream that the client must not resume unchanged.
    static func error(_ problem: ServiceError) -> LiveFrame {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body =
            (try? encoder.encode(Problem(problem.code, detail: problem.detail, field: problem.field, requestId: nil)))
            ?? Data()
        return LiveFrame { $0.append("event: error\ndata: ", String(decoding: body, as: UTF8.self), "\n\n") }
    }
}

extension ByteBuffer {
    mutating func append(_ texts: String...) {
        for text in texts { writeString(text) }
    }
}
