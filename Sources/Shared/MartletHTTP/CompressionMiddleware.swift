import HTTPTypes
import Hummingbird
import MartletCompression
import NIOCore
import Synchronization

/// Compresses JSON answers for clients that accept it (RFC 9110 §12.5.3).
///
/// Applies only to answers in memory whose size makes it worthwhile: not to streams, files, range requests or content
/// that is already compressed. It also excludes `no-store` answers, because an attacker could deduce a secret from the
/// compressed size if the answer contains text of the attacker's choice (BREACH). A compressed answer has a weak entity
/// tag (RFC 9110 §8.8.1), which matches the strong one when the client sends it back.
final class CompressionMiddleware: RouterMiddleware {
    typealias Context = ServiceContext

    static let sizesInBytes = 1 << 10...16 << 20
    /// Above this number answers are sent uncompressed, because compression takes CPU time and memory from other
    /// requests.
    private static let maximumConcurrent = 8

    private let running = Atomic<Int>(0)

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        guard let coding = coding(for: &response, to: request) else { return response }
        return try await compressed(response, coding)
    }

    /// The coding for an answer; nil to leave its body as it is. Sets the headers of both cases.
    func coding(for response: inout Response, to request: Request) -> ContentCoding? {
        if response.status == .notModified {
            response = Self.notModified(response, request)
            return nil
        }
        guard Self.isCompressible(response), request.method != .head else { return nil }
        Self.addVary(&response)
        return AcceptedCoding.best(request.headers[.acceptEncoding])
    }

    /// The compressed answer. As it is, if it would not become shorter or too many others are being compressed.
    func compressed(_ response: Response, _ coding: ContentCoding) async throws -> Response {
        var response = response
        let others = running.wrappingAdd(1, ordering: .relaxed).oldValue
        defer { running.wrappingSubtract(1, ordering: .relaxed) }
        guard others < Self.maximumConcurrent,
            let compressed = await Deflate.encode(try await response.wholeBody(), coding)
        else {
            return response
        }
        // Counted and written in parts like any other large answer.
        response.body = .whole(compressed)
        response.headers[.contentEncoding] = coding.rawValue
        if let tag = response.headers[.eTag] { response.headers[.eTag] = Self.weak(tag) }
        return response
    }

    private static func isCompressible(_ response: Response) -> Bool {
        guard let size = response.body.contentLength, sizesInBytes.contains(size),
            let type = response.headers[.contentType]
        else { return false }
        let mediaType = type.prefix { $0 != ";" }
        return (mediaType == "application/json" || mediaType.hasSuffix("+json"))
            && response.headers[.cacheControl] != "no-store"
            && [.contentEncoding, .contentRange, .acceptRanges, .contentDisposition].allSatisfy {
                response.headers[$0] == nil
            }
    }

    /// Repeats the form of the tag that the client sent. Every 304 has `Vary` (RFC 9110 §15.4.5), because the type of
    /// the full answer is unknown here.
    private static func notModified(_ response: Response, _ request: Request) -> Response {
        var response = response
        addVary(&response)
        guard let tag = response.headers[.eTag], request.headers[.ifNoneMatch]?.contains("W/" + tag) == true else {
            return response
        }
        response.headers[.eTag] = weak(tag)
        return response
    }

    private static func weak(_ tag: String) -> String { tag.hasPrefix("W/") ? tag : "W/" + tag }

    private static func addVary(_ response: inout Response) {
        let name = "Accept-Encoding"
        guard let vary = response.headers[.vary] else { return response.headers[.vary] = name }
        if !vary.contains(name), vary != "*" { response.headers[.vary] = vary + ", " + name }
    }
}

/// Chooses a content coding from `Accept-Encoding`.
enum AcceptedCoding {
    /// The coding with the greatest weight above 0, Brotli before gzip. Nil leaves the answer uncompressed.
    static func best(_ header: String?) -> ContentCoding? {
        guard let header, header.utf8.count <= 1_000 else { return nil }
        var weights: [String: Double] = [:]
        for element in header.split(separator: ",") {
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let name = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            weights[name == "x-gzip" ? "gzip" : name] = weight
        }
        func weight(_ coding: ContentCoding) -> Double { weights[coding.rawValue] ?? weights["*"] ?? 0 }
        let best: ContentCoding = weight(.brotli) >= weight(.gzip) ? .brotli : .gzip
        return weight(best) > 0 ? best : nil
    }
}
