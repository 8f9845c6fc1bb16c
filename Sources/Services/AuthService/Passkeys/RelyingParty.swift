import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// The relying party that an app's passkeys are bound to: a domain and the origins that may use it.
struct RelyingParty: Sendable, Equatable {
    static let maximumOrigins = 20

    /// A domain name in lower case.
    let id: String
    /// The name shown to users.
    let name: String
    /// `https://…` as sent by browsers and iOS, `android:apk-key-hash:…` as sent by Android. Compared exactly.
    let origins: [String]

    init(id: String, name: String, origins: [String]) {
        self.id = id
        self.name = name
        self.origins = origins
    }

    /// - Throws: `invalid-body`.
    init(_ fields: BodyFields) throws {
        id = try fields.requiredString("rpId")
        guard Self.isDomain(id) else {
            throw ServiceError.unexpectedMember("rpId", expected: "a domain name in lower case", found: id)
        }
        name = try fields.requiredString("rpName")
        guard (1...64).contains(name.unicodeScalars.count) else {
            throw ServiceError(
                .invalidBody, "Expected 1 to 64 characters, found \(name.unicodeScalars.count).", field: "rpName")
        }
        origins = try fields.strings("origins") ?? []
        guard (1...Self.maximumOrigins).contains(origins.count), Set(origins).count == origins.count else {
            throw ServiceError(
                .invalidBody, "Expected 1 to \(Self.maximumOrigins) distinct origins, found \(origins.count).",
                field: "origins")
        }
        for origin in origins where !Self.isOrigin(origin, of: id) {
            throw ServiceError(
                .invalidBody,
                "\(origin.prefix(100)) is neither https:// with the relying party's domain or a subdomain nor android:apk-key-hash:….",
                field: "origins")
        }
    }

    /// `localhost` is accepted for development: browsers treat it as secure without TLS.
    private static func isDomain(_ text: String) -> Bool {
        if text == "localhost" { return true }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        let isWellFormed = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.utf8.first != UInt8(ascii: "-")
                && label.utf8.last != UInt8(ascii: "-")
                && label.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                        UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
        // An IP address is not a domain.
        return isWellFormed && labels.count >= 2 && text.utf8.count <= 253
            && !(labels.last?.allSatisfy(\.isNumber) ?? true)
    }

    private static func isOrigin(_ text: String, of id: String) -> Bool {
        if let hash = text.suffix(after: "android:apk-key-hash:") {
            // The SHA-256 of the certificate that signs the app, in base64url.
            return Base64URLText.bytes(String(hash), count: 32...32) != nil
        }
        guard let rest = text.suffix(after: "https://") ?? (id == "localhost" ? text.suffix(after: "http://") : nil)
        else { return false }
        let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard isDomain(String(parts[0])), parts[0] == id || parts[0].hasSuffix("." + id) else { return false }
        guard parts.count == 2 else { return true }
        return Int(parts[1]).map { (1...65_535).contains($0) && $0 != 443 && String($0) == parts[1] } ?? false
    }
}

extension String {
    fileprivate func suffix(after prefix: String) -> Substring? { hasPrefix(prefix) ? dropFirst(prefix.count) : nil }
}
