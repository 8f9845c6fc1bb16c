public import MartletCore
import NIOCore

/// The encoded JSON of a message. Copies share their bytes, so a message to a million devices is stored once.
public struct EncodedPayload: Sendable, Equatable {
    let buffer: ByteBuffer

    public init(_ json: JSONValue) {
        buffer = ByteBuffer(string: json.text)
    }

    /// An empty payload, which no push service accepts.
    public init() {
        buffer = ByteBuffer()
    }

    public var sizeInBytes: Int { buffer.readableBytes }
    public var bytes: [UInt8] { Array(buffer.readableBytesView) }
}
