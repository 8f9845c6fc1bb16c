public import MartletCore
import NIOCore

/// A message's JSON as it is sent. Copies share their bytes, so that one for a million devices is there once.
public struct EncodedPayload: Sendable, Equatable {
    let buffer: ByteBuffer

    public init(_ json: JSONValue) {
        buffer = ByteBuffer(string: json.text)
    }

    /// Nothing: what no push service takes.
    public init() {
        buffer = ByteBuffer()
    }

    public var sizeInBytes: Int { buffer.readableBytes }
    public var bytes: [UInt8] { Array(buffer.readableBytesView) }
}
