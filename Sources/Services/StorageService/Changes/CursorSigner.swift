import Crypto
import Foundation
import MartletAPI
import MartletCore

/// Signs the cursors that clients keep, and only accepts its own cursors for the same collection and space.
///
/// A cursor determines which part of the log is read. A forged one could show objects as they were at a time of the
/// client's choice. The wire form is base64url of `2|<key>|<cursor>` and its HMAC-SHA-256 (RFC 2104) with space and
/// collection.
struct CursorSigner: Sendable {
    static let maximumSizeInBytes = ChangeCursor.maximumSizeInBytes + 128

    private let key: SymmetricKey
    /// Identifies the key, so that a cursor signed before a change of the internal secret is reported as expired, not
    /// as forged.
    private let keyName: String

    /// - Parameter secret: The internal secret, from which the key is derived (HKDF, RFC 5869), so that every copy
    ///   accepts the cursors of all others.
    init(secret: Secret) {
        let key = secret.withValue { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)), info: Data("martlet storage cursors".utf8),
                outputByteCount: 32)
        }
        self.key = key
        keyName = Base64URL.encode(HMAC<SHA256>.authenticationCode(for: Data("name".utf8), using: key).prefix(6))
    }

    func text(of cursor: ChangeCursor, _ collection: String, in space: AppSchema) -> String {
        let body = Data("2|\(keyName)|\(cursor.body)".utf8)
        return Base64URL.encode(
            body + HMAC<SHA256>.authenticationCode(for: Self.message(body, collection, space), using: key))
    }

    /// - Throws: `cursor-expired` for cursors made under another internal secret, or by a version that did not sign
    ///   them; `invalid-parameter` for anything else that is not a cursor of this collection.
    func cursor(
        _ text: some StringProtocol, parameter: String = "since", of collection: CollectionName, in space: AppSchema
    ) throws -> ChangeCursor {
        let refusal = ServiceError(
            .invalidParameter,
            "Expected the cursor of an earlier answer for this collection, app and environment, unchanged.",
            field: parameter)
        guard text.utf8.count <= Self.maximumSizeInBytes, let bytes = Base64URL.decode(text[...]) else { throw refusal }
        if bytes.starts(with: Data("1|".utf8)) {
            guard let text = String(bytes: bytes, encoding: .utf8), ChangeCursor(body: text.dropFirst(2)) != nil else {
                throw refusal
            }
            throw ServiceError(.cursorExpired)
        }
        let (body, mac) = (Data(bytes.dropLast(SHA256.Digest.byteCount)), Data(bytes.suffix(SHA256.Digest.byteCount)))
        guard
            let parts = String(bytes: body, encoding: .utf8)?.split(
                separator: "|", maxSplits: 2, omittingEmptySubsequences: false),
            parts.count == 3, parts[0] == "2", let cursor = ChangeCursor(body: parts[2])
        else { throw refusal }
        guard parts[1] == keyName else { throw ServiceError(.cursorExpired) }
        guard
            HMAC<SHA256>.isValidAuthenticationCode(
                mac, authenticating: Self.message(body, collection.text, space), using: key)
        else {
            throw refusal
        }
        return cursor
    }

    /// Schema and collection names contain no slash, so the message is unambiguous.
    private static func message(_ body: Data, _ collection: String, _ space: AppSchema) -> Data {
        Data("\(space.schema)/\(collection)/".utf8) + body
    }
}
