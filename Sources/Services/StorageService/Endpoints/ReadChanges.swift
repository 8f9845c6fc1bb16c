import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /changes/{collection}?since=&where=&keys=&limit=&wait=`: what changed since a cursor, in its latest state.
///
/// Answers `{"changed":[…],"deleted":[ids…],"cursor":"…","more":bool}`. Without `since` it begins with all objects.
/// `wait` holds the answer back up to that many seconds until there is something.
struct ReadChanges: Endpoint {
    let feed: SyncFeed
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["since", "where", "keys", "limit", "wait"])
        let scope = try await context.scope(rights)
        try scope.access.require(.find)
        let parameters = request.uri.queryParameters
        var query = SyncFeed.Query(keys: try request.keys)
        if let filter = try request.filter.map({ try LiveRequest.filter($0, in: scope) }) {
            (query.condition, query.isServed) = (filter.condition, filter.isServed)
        }
        if let text = parameters["limit"] {
            query.limit = try ListQuery.integer(text, "limit", in: 1...ListQuery.maximumLimit)
        }
        if let text = parameters["wait"] {
            query.wait = .seconds(try ListQuery.integer(text, "wait", in: 0...SyncFeed.maximumWaitInSeconds))
        }
        let signer = feed.changes.signer
        let page = try await feed.page(
            query, after: try request.since(of: scope.collection, in: scope.space, by: signer), in: scope)
        return Self.response(page, cursor: signer.text(of: page.cursor, scope.collection.text, in: scope.space))
    }

    private static func response(_ page: SyncFeed.Page, cursor: String) -> Response {
        var body = ByteBuffer()
        body.writeStaticString("{\"changed\":[")
        _ = page.row?.withBytes(2) { $0.map { body.writeBytes($0) } }
        body.writeStaticString("],\"deleted\":[")
        _ = page.row?.withBytes(3) { $0.map { body.writeBytes($0) } }
        body.writeString("],\"cursor\":\"\(cursor)\",\"more\":\(page.hasMore)}")
        return .json(body)
    }
}
