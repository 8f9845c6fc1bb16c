import Crypto
import MartletCompression
import MartletCore
import NIOCore

/// Immutable bytes that are served often, with their digest and compressed form.
struct StoredContent: Sendable {
    /// The digest of the bytes, in hexadecimal.
    let sha256: String
    let bytes: ByteBuffer
    /// Nil if compression gains nothing.
    let gzip: ByteBuffer?

    /// - Parameter sha256: The digest of the bytes, if it is known.
    init(_ bytes: [UInt8], sha256: String? = nil) {
        self.sha256 = sha256 ?? Hexadecimal.text(SHA256.hash(data: bytes))
        self.bytes = ByteBuffer(bytes: bytes)
        gzip = Gzip.compress(bytes).map { ByteBuffer(bytes: $0) }
    }

    var sizeInBytes: Int { bytes.readableBytes + (gzip?.readableBytes ?? 0) }
}
