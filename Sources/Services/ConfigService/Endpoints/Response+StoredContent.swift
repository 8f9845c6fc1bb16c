import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP
import NIOCore

extension Response {
    /// JSON that is stored, or 304 for who has it (RFC 9110 §13.1.2). Compressed for who takes that.
    ///
    /// - Parameters:
    ///   - space: the answer depends on nothing but what is live there and the request's address and `If-None-Match`:
    ///     gateways may say again that it is unchanged. Nil: it depends on who asks, or on other headers.
    ///   - headers: to be sent with it in any case.
    static func stored(
        _ content: StoredContent, of space: LiveSpace? = nil, to request: Request, headers: HTTPFields = [:]
    ) throws -> Response {
        try stored(
            content.bytes, gzip: content.gzip, tag: EntityTag(text: content.sha256), of: space, to: request,
            headers: headers)
    }

    private static let generation = HTTPField.Name(HeaderName.generation)!

    /// The same of bytes, which perhaps are compressed already, under an entity tag.
    static func stored(
        _ content: ByteBuffer, gzip: ByteBuffer?, tag: EntityTag, of space: LiveSpace? = nil, to request: Request,
        headers: HTTPFields = [:]
    ) throws -> Response {
        var headers = headers
        headers[.eTag] = tag.header
        if headers[.cacheControl] == nil { headers[.cacheControl] = "private, no-cache" }
        headers[.vary] = headers[.vary].map { $0 + ", Accept-Encoding" } ?? "Accept-Encoding"
        if let known = request.headers[.ifNoneMatch], try EntityTag.list(known)?.contains(tag) ?? true {
            if let space { headers[generation] = "\(space.space.text) \(space.generation)" }
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = "application/json; charset=utf-8"
        guard let gzip, request.takesGzip else {
            return Response(status: .ok, headers: headers, body: .init(byteBuffer: content))
        }
        headers[.contentEncoding] = "gzip"
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: gzip))
    }
}

extension Request {
    /// Whether `Accept-Encoding` has gzip with a weight above 0 (RFC 9110 §12.5.3).
    var takesGzip: Bool {
        guard let header = headers[.acceptEncoding] else { return false }
        return header.split(separator: ",").contains { part in
            let pieces = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let coding = pieces.first, coding == "gzip" || coding == "*" else { return false }
            return !pieces.dropFirst().contains { $0.hasPrefix("q=") && (Double($0.dropFirst(2)) ?? 1) == 0 }
        }
    }
}
