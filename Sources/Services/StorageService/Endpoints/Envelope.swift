import Hummingbird
import MartletHTTP
import MartletPostgres
import NIOCore

/// The answer of every list read (A2): `{"config":…,"translation":…,"count":n,"data":[…]}`.
///
/// `config` and `translation` name the live versions; null until the config service publishes some.
enum Envelope {
    private static let head: StaticString =
        #"{"config":{"version":null,"date":null},"translation":{"version":null,"date":null},"count":"#

    static func response(_ page: ObjectStore.Page, status: HTTPResponse.Status = .ok) -> Response {
        guard let row = page.rows?.first else { return .json(body(page, objects: nil), status: status) }
        return .json(row.withBytes(1) { body(page, objects: $0) }, status: status)
    }

    private static func body(_ page: ObjectStore.Page, objects: UnsafeRawBufferPointer?) -> ByteBuffer {
        var body = ByteBuffer()
        body.reserveCapacity(head.utf8CodeUnitCount + 32 + (objects?.count ?? 0))
        body.writeStaticString(head)
        body.writeString(String(page.count))
        if let cursor = page.cursor {
            body.writeStaticString(#","cursor":"#)
            body.writeString(cursor.map { "\"\($0)\"" } ?? "null")
        }
        body.writeStaticString(#","data":["#)
        if let objects { body.writeBytes(objects) }
        body.writeStaticString("]}")
        return body
    }
}

extension Response {
    /// One object, with its entity tag.
    static func object(
        _ written: ObjectStore.Written, status: HTTPResponse.Status = .ok, hasTag: Bool = true
    ) throws -> Response {
        let body = written.rows[0].withBytes(0) { ByteBuffer(bytes: $0 ?? UnsafeRawBufferPointer(start: nil, count: 0)) }
        var response = Response.json(body, status: status)
        if hasTag { response.headers[.eTag] = try written.entityTag.header }
        return response
    }
}
