import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

extension Request {
    /// The path after its first `count` components, still percent-encoded.
    func rest(after count: Int) -> Substring {
        var rest = uri.path.dropFirst()
        for _ in 0..<count {
            guard let slash = rest.firstIndex(of: "/") else { return "" }
            rest = rest[rest.index(after: slash)...]
        }
        return rest
    }

    /// The file or directory in the path, after `count` fixed components.
    ///
    /// - Throws: `invalid-path`.
    func fileTarget(after count: Int = 1) throws -> FileTarget {
        try FileTarget(encoded: rest(after: count))
    }

    /// The precondition in `If-Match` or `If-None-Match: *`.
    ///
    /// - Throws: `invalid-parameter`.
    var fileCondition: FileCondition {
        get throws {
            if try Precondition.mustBeNew(self) { return .mustBeNew }
            return try Precondition(self).map { .mustBe($0.tags) } ?? .none
        }
    }

    /// - Throws: `invalid-parameter`.
    func pageLimit(maximum: Int = FileStore.maximumPage) throws -> Int {
        try number("limit", default: min(100, maximum), in: 1...maximum)
    }
}

extension RouteParameter {
    /// Which bytes of which version of a file are returned (RFC 9110 §13, §14).
    static let fileVersion: [RouteParameter] = [
        .header(
            "Range", .string,
            "A range of bytes, such as `bytes=0-1023`. If there are several, the whole file is returned."),
        .header("If-Match", .string, "The entity tags of the versions that may be returned, or `*`."),
        .header("If-None-Match", .string, "The entity tags of the versions that the client already has."),
    ]
}

/// A precondition for writing or deleting a file (`If-Match`, `If-None-Match`). Entity tags are digests.
enum FileCondition: Sendable {
    case none
    case mustBeNew
    /// Nil if the file only has to exist.
    case mustBe([String]?)
}

extension Response {
    /// `{"count":n,"data":[…],"next":…}` from rows whose only cell is JSON. `next` is the cursor of the following page.
    static func page(_ rows: PostgresRows, next: String?) throws -> Response {
        var body = ByteBuffer(string: "{\"count\":\(rows.count),\"data\":[")
        for (index, row) in rows.enumerated() {
            if index > 0 { body.writeString(",") }
            row.withBytes(0) { if let bytes = $0 { _ = body.writeBytes(bytes) } }
        }
        body.writeString("],\"next\":")
        body.writeBytes(try JSONEncoder().encode(next))
        body.writeString("}")
        return .json(body)
    }

    /// A response with the JSON in the first cell of the first row.
    static func record(_ rows: PostgresRows, status: HTTPResponse.Status = .ok) throws -> Response {
        guard let row = rows.first else { throw ServiceError(.fileNotFound) }
        return .json(
            row.withBytes(0) { bytes in ByteBuffer(bytes: bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)) },
            status: status)
    }
}
