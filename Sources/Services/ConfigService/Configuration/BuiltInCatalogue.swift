import Crypto
import Foundation
import MartletCore
import NIOCore

extension PropertyCatalogue {
    /// `Catalogue/catalogue.json`, which is compiled into the program.
    static let builtIn: PropertyCatalogue = {
        var catalogue = PropertyCatalogue()
        // A test reads the file: here it cannot be malformed.
        try? catalogue.add(JSONValue(parsing: PackageResources.catalogue_json)["kinds"] ?? .null)
        return catalogue
    }()

    /// The file as it is handed out.
    static let file = StoredContent(PackageResources.catalogue_json)
}

/// Bytes that are made once and handed out often.
struct StoredContent: Sendable {
    /// Of the bytes, in hexadecimal digits.
    let sha256: String
    let bytes: ByteBuffer
    /// Nil where compressing gains nothing.
    let gzip: ByteBuffer?

    init(_ bytes: [UInt8]) {
        sha256 = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
        self.bytes = ByteBuffer(bytes: bytes)
        gzip = Gzip.compress(bytes).map { ByteBuffer(bytes: $0) }
    }
}
