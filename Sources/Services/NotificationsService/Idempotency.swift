import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

extension BodyFields {
    /// The SHA-256 hash of these fields. It distinguishes a repeated request from a different one with the same
    /// `Idempotency-Key`.
    func digest(of names: Set<String>) -> [UInt8] {
        let text = names.sorted().map { "\($0)=\(self[$0]?.text ?? "")" }.joined(separator: "\n")
        return Array(SHA256.hash(data: Data(text.utf8)))
    }
}

extension Request {
    /// The `Idempotency-Key` header, 1 to 200 printable ASCII characters without spaces. Nil when it is missing.
    ///
    /// - Throws: `invalid-parameter`.
    var idempotencyKey: String? {
        get throws {
            guard let key = headers[HTTPField.Name("Idempotency-Key")!] else { return nil }
            guard (1...200).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw ServiceError(
                    .invalidParameter, "Expected 1 to 200 printable ASCII characters without spaces.",
                    field: "Idempotency-Key")
            }
            return key
        }
    }
}
