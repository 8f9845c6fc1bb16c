import Crypto
import MartletCompression
import MartletCore
import NIOCore

/// Bytes that are made once and handed out often.
struct StoredContent: Sendable {
    /// Of the bytes, in hexadecimal digits.
    let sha256: String
    let bytes: ByteBuffer
    /// Nil where compressing gains nothing.
    let gzip: ByteBuffer?

    /// - Parameter sha256: of the bytes, where it is known.
    init(_ bytes: [UInt8], sha256: String? = nil) {
        self.sha256 = sha256 ?? Hexadecimal.text(SHA256.hash(data: bytes))
        self.bytes = ByteBuffer(bytes: bytes)
        gzip = Gzip.compress(bytes).map { ByteBuffer(bytes: $0) }
    }

    var sizeInBytes: Int { bytes.readableBytes + (gzip?.readableBytes ?? 0) }
}
