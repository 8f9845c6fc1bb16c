import Foundation
import MartletAPI
import MartletCore

/// Finds keys where third-party protocols put them.
enum ForeignCredentials {
    /// An ingest key: `sentry_key` in `X-Sentry-Auth`, otherwise the Basic user name, otherwise `sentry_key` in the
    /// query.
    static func ingestKey(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        if let header = head.value(head.sentryAuth, in: bytes) { return sentryKey(header) }
        if let header = head.value(head.authorization, in: bytes) { return basicUser(header) }
        return queryParameter("sentry_key=", in: bytes[head.query])
    }

    /// An evaluation key: the bearer token, or `X-API-Key` without an `Authorization` header.
    static func evaluationKey(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let header = head.value(head.authorization, in: bytes) else { return head.value(head.apiKey, in: bytes) }
        return afterScheme("bearer ", header)
    }

    /// A bearer token (RFC 6750 §2.1).
    static func bearerToken(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let header = head.value(head.authorization, in: bytes) else { return nil }
        // A scheme without a token counts as an empty, hence invalid, token.
        if header.spells("bearer") { return UnsafeRawBufferPointer(rebasing: header[header.count...]) }
        return afterScheme("bearer ", header)
    }

    /// The access token of a user or staff member, as a bearer token. `Basic` is ignored, because a proxy in front of
    /// the gateway may require it.
    ///
    /// - Throws: `invalid-token` for anything else that cannot be a token, such as `Bearer null` or a token without its
    ///   scheme, because the sender expects the request to have the user's permissions.
    static func accessToken(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) throws(Refusal)
        -> UnsafeRawBufferPointer?
    {
        guard let header = head.value(head.authorization, in: bytes) else { return nil }
        if header.spells("basic") || afterScheme("basic ", header) != nil { return nil }
        guard let token = bearerToken(head, bytes), hasFormOfToken(token) else {
            throw Refusal(.invalidToken, "Authorization must be 'Bearer' and an access token, or be omitted.")
        }
        return token
    }

    /// Whether `text` consists of three base64url parts separated by dots (RFC 7515 §7.1).
    private static func hasFormOfToken(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= AccessToken.maximumSizeInBytes else { return false }
        var (parts, length) = (1, 0)
        for byte in text {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"), UInt8(ascii: "-"):
                length += 1
            case UInt8(ascii: ".") where length > 0: (parts, length) = (parts + 1, 0)
            default: return false
            }
        }
        return parts == 3 && length > 0
    }

    private static func sentryKey(_ header: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let list = afterScheme("sentry ", header) else { return nil }
        var key: [UInt8]?
        list.forEachListElement { element in
            if element.starts(with: "sentry_key=".utf8) { key = Array(element.dropFirst("sentry_key=".utf8.count)) }
        }
        return key
    }

    private static func basicUser(_ header: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let encoded = afterScheme("basic ", header), let pair = Data(base64Encoded: encoded.text) else {
            return nil
        }
        return Array(pair.prefix { $0 != UInt8(ascii: ":") })
    }

    private static func queryParameter(_ prefix: StaticString, in query: UnsafeRawBufferPointer) -> [UInt8]? {
        for parameter in query.dropFirst().split(separator: UInt8(ascii: "&")) {
            let count = prefix.utf8CodeUnitCount
            guard parameter.count >= count else { continue }
            if UnsafeRawBufferPointer(rebasing: parameter.prefix(count)).spells(prefix) {
                return Array(parameter.dropFirst(count))
            }
        }
        return nil
    }

    private static func afterScheme(_ scheme: StaticString, _ header: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer?
    {
        let count = scheme.utf8CodeUnitCount
        guard header.count > count, UnsafeRawBufferPointer(rebasing: header[..<count]).spells(scheme) else {
            return nil
        }
        return UnsafeRawBufferPointer(rebasing: header[count...]).trimmed
    }
}
