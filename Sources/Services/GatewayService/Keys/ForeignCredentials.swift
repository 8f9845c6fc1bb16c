import Foundation

/// Where other protocols put their keys.
enum ForeignCredentials {
    /// An ingest key: `sentry_key` of `X-Sentry-Auth`, else the Basic user name, else `sentry_key` of the query.
    static func ingestKey(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        if let header = head.value(head.sentryAuth, in: bytes) { return sentryKey(header) }
        if let header = head.value(head.authorization, in: bytes) { return basicUser(header) }
        return queryParameter("sentry_key=", in: bytes[head.query])
    }

    /// An evaluation key: the bearer token, else `X-API-Key`.
    static func evaluationKey(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let header = head.value(head.authorization, in: bytes) else { return head.value(head.apiKey, in: bytes) }
        return afterScheme("bearer ", header)
    }

    /// An end user's access token (RFC 6750 §2.1); other schemes are not looked at.
    static func bearerToken(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let header = head.value(head.authorization, in: bytes) else { return nil }
        // Nothing behind the scheme: a token, and a wrong one.
        if header.spells("bearer") { return UnsafeRawBufferPointer(rebasing: header[header.count...]) }
        return afterScheme("bearer ", header)
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
        guard let encoded = afterScheme("basic ", header), let pair = Data(base64Encoded: encoded.text) else { return nil }
        return Array(pair.prefix { $0 != UInt8(ascii: ":") })
    }

    private static func queryParameter(_ prefix: StaticString, in query: UnsafeRawBufferPointer) -> [UInt8]? {
        for parameter in query.dropFirst().split(separator: UInt8(ascii: "&")) {
            let count = prefix.utf8CodeUnitCount
            guard parameter.count >= count else { continue }
            if UnsafeRawBufferPointer(rebasing: parameter.prefix(count)).spells(prefix) { return Array(parameter.dropFirst(count)) }
        }
        return nil
    }

    private static func afterScheme(_ scheme: StaticString, _ header: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let count = scheme.utf8CodeUnitCount
        guard header.count > count, UnsafeRawBufferPointer(rebasing: header[..<count]).spells(scheme) else { return nil }
        return UnsafeRawBufferPointer(rebasing: header[count...]).trimmed
    }
}
