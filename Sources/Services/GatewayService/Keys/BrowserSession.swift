import MartletAPI

/// A staff session in a browser: the access token is in a cookie.
///
/// Browsers also send cookies with requests that other sites cause. So the cookie counts only if the request has the
/// header `Martlet-Dashboard`, which pages of other sites cannot add, and if the browser says that it comes from our
/// own origin.
enum BrowserSession {
    static let cookie: StaticString = "__Host-martlet-staff"

    /// The access token in the cookie; nil if there is none.
    ///
    /// - Throws: `forbidden` if the request does not come from a page of this server.
    static func token(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) throws(Refusal) -> UnsafeRawBufferPointer? {
        guard isSameOrigin(head, bytes) else {
            throw Refusal(.forbidden, "Requests with Martlet-Dashboard must come from a page of this server.")
        }
        guard let header = head.value(head.cookie, in: bytes) else { return nil }
        for pair in header.split(separator: UInt8(ascii: ";")) {
            let pair = UnsafeRawBufferPointer(rebasing: pair).trimmed
            let count = cookie.utf8CodeUnitCount
            guard pair.count > count + 1, pair[count] == UInt8(ascii: "="),
                pair.prefix(count).elementsEqual(UnsafeRawBufferPointer(start: cookie.utf8Start, count: count))
            else { continue }
            return UnsafeRawBufferPointer(rebasing: pair[(count + 1)...])
        }
        return nil
    }

    /// Whether `Sec-Fetch-Site` (Fetch Metadata) and `Origin` (RFC 6454) name our own origin. At least one must be
    /// present: every browser sends `Origin` with changes, and current ones send `Sec-Fetch-Site` with all requests.
    private static func isSameOrigin(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
        let site = head.value(head.fetchSite, in: bytes)
        if let site, !site.spells("same-origin") { return false }
        guard let origin = head.value(head.origin, in: bytes) else { return site != nil }
        guard let host = head.value(head.host, in: bytes) else { return false }
        for scheme in ["https://", "http://"] as [StaticString] {
            let count = scheme.utf8CodeUnitCount
            guard origin.count > count, UnsafeRawBufferPointer(rebasing: origin[..<count]).spells(scheme) else {
                continue
            }
            return origin.dropFirst(count).elementsEqual(host)
        }
        return false
    }
}
