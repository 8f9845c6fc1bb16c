import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres
import NIOCore

extension Request {
    /// What stands behind the first `count` components of the path, still encoded.
    func rest(behind count: Int) -> Substring {
        var rest = uri.path.dropFirst()
        for _ in 0..<count {
            guard let slash = rest.firstIndex(of: "/") else { return "" }
            rest = rest[rest.index(after: slash)...]
        }
        return rest
    }

    /// The file or directory that a route of `count` fixed components is about.
    ///
    /// - Throws: `invalid-path`.
    func fileTarget(behind count: Int = 1) throws -> FileTarget {
        try FileTarget(encoded: rest(behind: count))
    }

    /// `If-Match`, `If-None-Match: *`.
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
        guard let text = uri.queryParameters["limit"] else { return min(100, maximum) }
        guard let limit = Int(text), (1...maximum).contains(limit) else {
            throw HTTPProblem(.invalidParameter, "It must be a whole number from 1 to \(maximum).", field: "limit")
        }
        return limit
    }
}

extension Response {
    /// `{"count":n,"data":[…],"next":…}` of rows whose only cell is JSON; `next`: what to ask with for the page that
    /// follows.
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

    /// A row whose first cell is JSON.
    static func record(_ rows: PostgresRows, status: HTTPResponse.Status = .ok) throws -> Response {
        guard let row = rows.first else { throw HTTPProblem(.fileNotFound) }
        return .json(
            row.withBytes(0) { bytes in ByteBuffer(bytes: bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)) },
            status: status)
    }
}
