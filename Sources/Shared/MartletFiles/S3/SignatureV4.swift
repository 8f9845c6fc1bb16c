import Crypto
import Foundation
import MartletCore

/// AWS Signature Version 4 in the `Authorization` header, as S3 requires it: path segments encoded once, payload
/// hashed.
///
/// Source: AWS, "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)".
struct SignatureV4: Sendable {
    let accessKey: String
    let secretKey: Secret
    let region: String
    var service = "s3"

    /// - Parameters:
    ///   - path: The percent-encoded path, as in the request line.
    ///   - query: Names and values, not encoded.
    ///   - headers: All headers to be signed, including `host` and `x-amz-date`.
    ///   - payloadSHA256: 64 hexadecimal digits.
    func authorization(
        method: String, path: String, query: [(name: String, value: String)], headers: [(name: String, value: String)],
        payloadSHA256: String, timestamp: String
    ) -> String {
        let headers = headers.map { ($0.name.lowercased(), Self.trimmed($0.value)) }.sorted { $0.0 < $1.0 }
        let names = headers.map(\.0).joined(separator: ";")
        let canonical = [
            method, path, Self.encoded(query), headers.map { $0.0 + ":" + $0.1 + "\n" }.joined(), names, payloadSHA256,
        ].joined(separator: "\n")
        let day = String(timestamp.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let text = ["AWS4-HMAC-SHA256", timestamp, scope, Hexadecimal.text(SHA256.hash(data: Data(canonical.utf8)))]
            .joined(separator: "\n")
        let signature = Hexadecimal.text(Self.mac(text, signingKey(day: day)))
        return "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope),SignedHeaders=\(names),Signature=\(signature)"
    }

    private func signingKey(day: String) -> SymmetricKey {
        let first = secretKey.withValue { SymmetricKey(data: Data(("AWS4" + $0).utf8)) }
        return [day, region, service, "aws4_request"].reduce(first) { SymmetricKey(data: Self.mac($1, $0)) }
    }

    private static func mac(_ text: String, _ key: SymmetricKey) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
    }

    /// The query in the form used by both the request line and the signature: sorted by encoded name.
    static func encoded(_ query: [(name: String, value: String)]) -> String {
        query.map { (encoded($0.name), encoded($0.value)) }.sorted { $0 < $1 }.map { $0.0 + "=" + $0.1 }.joined(
            separator: "&")
    }

    /// Percent-encodes everything but unreserved characters (RFC 3986 §2.3), in upper-case hexadecimal.
    static func encoded(_ text: String, keeping kept: String = "") -> String {
        var encoded = ""
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if character.isASCII && (character.isLetter || character.isNumber) || "-._~".contains(character)
                || kept.contains(character)
            {
                encoded.append(character)
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// A time in the form `20130524T000000Z`.
    static func timestamp(_ date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func pad(_ number: Int32, _ count: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
        }
        return pad(parts.tm_year + 1900, 4) + pad(parts.tm_mon + 1) + pad(parts.tm_mday) + "T" + pad(parts.tm_hour)
            + pad(parts.tm_min) + pad(parts.tm_sec) + "Z"
    }

    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
}
