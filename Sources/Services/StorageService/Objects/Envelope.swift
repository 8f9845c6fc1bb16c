import HTTPTypes
import Hummingbird
import MartletHTTP
import MartletPostgres
import NIOCore

/// The answer of all lists of objects: `{"config":…,"translation":…,"count":n,"data":[…]}`.
///
/// `config` and `translation` are the most recently published versions known to this process; null if none is live.
struct Envelope: Sendable {
    let versions: KnownVersions

    func response(_ page: ObjectStore.Page, of space: AppSchema, status: HTTPResponse.Status = .ok) -> Response {
        var answer = answer(page, of: space)
        answer.status = status
        return Response(answer)
    }

    func answer(_ page: ObjectStore.Page, of space: AppSchema) -> DirectAnswer {
        let notice = versions[space.app]
        let body =
            page.rows?.first.map { row in row.withBytes(1) { text(page, notice, objects: $0) } }
            ?? text(page, notice, objects: nil)
        var headers: HTTPFields = [.contentType: Response.jsonType]
        for field in notice.headers { headers[field.name] = field.value }
        return DirectAnswer(headers: headers, body: body)
    }

    private func text(_ page: ObjectStore.Page, _ notice: VersionNotice, objects: UnsafeRawBufferPointer?) -> ByteBuffer
    {
        var body = ByteBuffer()
        body.reserveCapacity(notice.head.utf8.count + 32 + (objects?.count ?? 0))
        body.writeString(notice.head)
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
    /// A single object, with its entity tag.
    static func object(
        _ written: ObjectStore.Written, status: HTTPResponse.Status = .ok, hasTag: Bool = true
    ) throws -> Response {
        var response = Response.json(written.text, status: status)
        if hasTag { response.headers[.eTag] = try written.entityTag.header }
        return response
    }
}

extension ObjectStore.Written {
    /// The object's JSON text.
    var text: ByteBuffer {
        rows[0].withBytes(0) { ByteBuffer(bytes: $0 ?? UnsafeRawBufferPointer(start: nil, count: 0)) }
    }
}
