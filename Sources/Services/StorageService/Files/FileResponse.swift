import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import NIOCore

/// Answers a request for a blob: all of it, one range, or "not modified".
struct FileResponse: Sendable {
    var blob: BlobName
    var sizeInBytes: Int
    var sha256: String
    var contentType: String
    /// The file name in `Content-Disposition`.
    var name: String

    private var tag: EntityTag { EntityTag(text: sha256) }

    /// Answers 200, 206 or 304, and throws problems for 412 and 416. Preconditions are evaluated in the order of RFC
    /// 9110 §13.2.2. Files have no `Last-Modified`, so conditions on dates are ignored (§13.1.3, §13.1.4), and an
    /// `If-Range` with a date gets the whole file. Requests for several ranges get the whole file, because a list of
    /// many small ranges would cost the server more than the client.
    ///
    /// - Throws: `invalid-parameter`, `precondition-failed`, `range-not-satisfiable`.
    func response(to request: Request, from backend: any FileBackend) throws -> Response {
        var headers = headers
        guard try request.matches(tag) else { throw ServiceError(.preconditionFailed) }
        if try request.knows(tag) { return Response(status: .notModified, headers: headers) }
        let range: Range<Int>?
        do {
            range = try ByteRange.parse(
                request.headers[.range], ifRange: request.headers[.ifRange], tag: tag.header, size: sizeInBytes)
        } catch is ByteRange.Unsatisfiable {
            throw ErrorWithHeaders(
                ServiceError(.rangeNotSatisfiable, "The file has \(sizeInBytes) bytes."),
                [.contentRange: "bytes */\(sizeInBytes)"])
        }
        headers[.contentType] = contentType.hasPrefix("text/") ? contentType + "; charset=utf-8" : contentType
        headers[.acceptRanges] = "bytes"
        if let range { headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(sizeInBytes)" }
        let (blob, sent) = (blob, range ?? 0..<sizeInBytes)
        return Response(
            status: range == nil ? .ok : .partialContent, headers: headers,
            body: ResponseBody(contentLength: sent.count) { writer in
                try await backend.read(blob, in: sent) { try await writer.write($0) }
                try await writer.finish(nil)
            })
    }

    /// Prevents browsers from treating a file as part of a site: no content sniffing, no scripts, no frames, no loading
    /// of other resources.
    private var headers: HTTPFields {
        var headers: HTTPFields = [
            .eTag: tag.header, .cacheControl: "private, no-cache", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'; style-src 'unsafe-inline'",
        ]
        headers[.contentDisposition] = ContentDisposition.header(
            isInline: ContentType.isInline(contentType), name: name)
        headers[HTTPField.Name("Cross-Origin-Resource-Policy")!] = "cross-origin"
        return headers
    }
}

/// The `Range` of a request (RFC 9110 §14).
enum ByteRange {
    struct Unsatisfiable: Error {}

    /// The requested range. Nil means the whole file: no range, several ranges, another unit, an invalid header, or a
    /// range of another version (`If-Range`).
    static func parse(_ header: String?, ifRange: String?, tag: String, size: Int) throws -> Range<Int>? {
        guard let header, header.hasPrefix("bytes="), ifRange == nil || ifRange == tag else { return nil }
        let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, !header.contains(","),
            ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            ends.allSatisfy({ $0.isEmpty || Int($0) != nil })
        else { return nil }
        switch (Int(ends[0]), Int(ends[1])) {
        case (let first?, let last?):
            guard first <= last else { return nil }
            guard first < size else { throw Unsatisfiable() }
            return first..<min(last, size - 1) + 1
        case (let first?, nil):
            guard first < size else { throw Unsatisfiable() }
            return first..<size
        case (nil, let count?):
            guard count > 0, size > 0 else { throw Unsatisfiable() }
            return max(0, size - count)..<size
        case (nil, nil): return nil
        }
    }
}

extension FileStore.File {
    var response: FileResponse {
        FileResponse(
            blob: blob, sizeInBytes: sizeInBytes, sha256: sha256, contentType: contentType,
            name: path.components(separatedBy: "/").last ?? "")
    }
}
