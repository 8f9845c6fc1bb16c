import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

extension BodyFields {
    /// SHA-256 of what was asked by these fields: the same again, or something else under the same `Idempotency-Key`.
    func digest(of names: Set<String>) -> [UInt8] {
        let asked = names.sorted().map { "\($0)=\(self[$0]?.text ?? "")" }.joined(separator: "\n")
        return Array(SHA256.hash(data: Data(asked.utf8)))
    }
}

extension Request {
    /// What makes the same request twice one: 1 to 200 printable characters of ASCII.
    ///
    /// - Throws: `invalid-parameter`.
    var idempotencyKey: String? {
        get throws {
            guard let key = headers[HTTPField.Name("Idempotency-Key")!] else { return nil }
            guard (1...200).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw HTTPProblem(
                    .invalidParameter, "It has 1 to 200 printable characters without spaces.", field: "Idempotency-Key")
            }
            return key
        }
    }
}
