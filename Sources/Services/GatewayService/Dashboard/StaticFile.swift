import Crypto
import Foundation

/// A file in memory, both uncompressed and compressed.
struct StaticFile: Sendable {
    private let contentType: String
    private let identity: Representation
    private let brotli: Representation?
    private let gzip: Representation?

    private struct Representation: Sendable {
        var bytes: [UInt8]
        /// Strong, so each encoding has its own (RFC 9110 §8.8.3).
        var tag: String
        var encoding: String?
    }

    init(name: String, identity: [UInt8], brotli: [UInt8]?, gzip: [UInt8]?) {
        contentType = Self.contentType(of: name)
        let digest = SHA256.hash(data: identity).prefix(12).map { String(format: "%02x", $0) }.joined()
        func representation(_ bytes: [UInt8], _ encoding: String?) -> Representation {
            Representation(
                bytes: bytes, tag: "\"\(digest)\(encoding.map { "-" + $0 } ?? "")\"", encoding: encoding)
        }
        self.identity = representation(identity, nil)
        self.brotli = brotli.map { representation($0, "br") }
        self.gzip = gzip.map { representation($0, "gzip") }
    }

    /// The smallest representation that the client accepts; 304 without a body if the client has it.
    func answer(
        to wanted: RequestedRepresentation, cacheControl: String, headers: [(name: String, value: String)]
    ) -> Answer {
        let chosen = wanted.acceptsBrotli ? brotli ?? identity : wanted.acceptsGzip ? gzip ?? identity : identity
        var answer = Answer(status: 200)
        answer.headers = [("etag", chosen.tag), ("cache-control", cacheControl), ("vary", "accept-encoding")]
        if wanted.has(tag: chosen.tag) {
            answer.status = 304
            return answer
        }
        answer.headers.append(("content-type", contentType))
        if let encoding = chosen.encoding { answer.headers.append(("content-encoding", encoding)) }
        answer.headers += headers
        answer.body = chosen.bytes
        return answer
    }

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "json": "application/json"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "woff2": "font/woff2"
        case "txt": "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}

/// The representation that a request accepts: the encodings, and the tags of the representations that the client has.
struct RequestedRepresentation {
    private(set) var acceptsBrotli = false
    private(set) var acceptsGzip = false
    private var tags: [String] = []

    init(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) {
        for field in head.fields {
            if bytes[field.name].spells("accept-encoding") {
                bytes[field.value].forEachListElement { accept($0.text.lowercased()) }
            } else if bytes[field.name].spells("if-none-match") {
                bytes[field.value].forEachListElement { tags.append($0.text) }
            }
        }
    }

    /// Compares weakly, as `If-None-Match` does (RFC 9110 §13.1.2).
    func has(tag: String) -> Bool { tags.contains { $0 == "*" || $0 == tag || $0 == "W/" + tag } }

    /// An element such as `br` or `gzip;q=0.5`. A weight of zero means that the encoding is not acceptable.
    private mutating func accept(_ element: String) {
        let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
        let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
        switch parts.first {
        case "br": acceptsBrotli = weight > 0
        case "gzip": acceptsGzip = weight > 0
        default: break
        }
    }
}
