import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

extension Response {
    /// Stored JSON, or 304 for a client that already has it (RFC 9110 §13.1.2). Compressed if the client accepts that.
    ///
    /// - Parameters:
    ///   - space: Pass it if the answer depends only on the space's live documents, the request's URL and
    ///     `If-None-Match`; gateways may then answer 304 themselves. Nil if it depends on the client or other headers.
    ///   - headers: Sent in every case, including 304.
    static func stored(
        _ content: StoredContent, of space: LiveSpace? = nil, to request: Request, headers: HTTPFields = [:]
    ) throws -> Response {
        try stored(
            content.bytes, gzip: content.gzip, tag: EntityTag(text: content.sha256), of: space, to: request,
            headers: headers)
    }

    private static let generation = HTTPField.Name(HeaderName.generation)!

    /// As above, for bytes with their own entity tag and a compressed form if there is one.
    static func stored(
        _ content: ByteBuffer, gzip: ByteBuffer?, tag: EntityTag, of space: LiveSpace? = nil, to request: Request,
        headers: HTTPFields = [:]
    ) throws -> Response {
        var headers = headers
        headers[.eTag] = tag.header
        if headers[.cacheControl] == nil { headers[.cacheControl] = "private, no-cache" }
        headers[.vary] = headers[.vary].map { $0 + ", Accept-Encoding" } ?? "Accept-Encoding"
        if try request.knows(tag) {
            if let space { headers[generation] = "\(space.space.text) \(space.generation)" }
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = "application/json; charset=utf-8"
        guard let gzip, request.acceptsGzip else {
            return Response(status: .ok, headers: headers, body: .init(byteBuffer: content))
        }
        headers[.contentEncoding] = "gzip"
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: gzip))
    }
}

extension Request {
    /// Whether `Accept-Encoding` includes gzip with a weight above 0 (RFC 9110 §12.5.3).
    var acceptsGzip: Bool {
        guard let header = headers[.acceptEncoding] else { return false }
        return header.split(separator: ",").contains { part in
            let pieces = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let coding = pieces.first, coding == "gzip" || coding == "*" else { return false }
            return !pieces.dropFirst().contains { $0.hasPrefix("q=") && (Double($0.dropFirst(2)) ?? 1) == 0 }
        }
    }
}
