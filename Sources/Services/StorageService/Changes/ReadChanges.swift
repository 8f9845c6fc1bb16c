import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

struct ReadChanges: Endpoint {
    static let route = Route(
        .get, "/changes/{collection}", "readChanges",
        "Returns what changed in a collection since a cursor, or all objects if there is no cursor.",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .collection,
            .query("since", .string, "The `cursor` of the previous answer."),
            .filter,
            .keys,
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
            .query(
                "wait", .integer.range(0, 30).defaulting(to: 0), "The maximum time to wait for a change, in seconds."),
        ],
        details: """
            After 410 `cursor-expired`, start again without a cursor. A cursor that did not come from an earlier \
            answer for this collection, app and environment is refused with 400 `invalid-parameter`.
            """,
        answers: [
            .answer(
                200,
                "The changed objects in their latest state, the ids of deleted ones, and the next cursor.",
                .json(
                    .object(
                        [
                            "changed": .array(of: .storedObject),
                            "deleted": .array(of: .string),
                            "cursor": .string,
                            "more": .boolean,
                        ], required: ["changed", "deleted", "cursor", "more"])))
        ],
        errors: [410: "The cursor is from before the retained changes, a restore or a failover (`cursor-expired`)."])

    let feed: SyncFeed
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let revision = rights.revision
        let (query, scope) = try await compiledQuery(for: request, context)
        let signer = feed.changes.signer
        let cursor = try request.since(of: scope.collection, in: scope.space, by: signer)
        let page = try await feed.page(query, after: cursor, in: scope, at: revision) {
            try await compiledQuery(for: request, context)
        }
        return Self.response(page, cursor: signer.text(of: page.cursor, scope.collection.text, in: scope.space))
    }

    /// The query, compiled for the caller's current rights.
    private func compiledQuery(
        for request: Request, _ context: ServiceContext
    ) async throws -> (SyncFeed.Query, QueryScope) {
        let scope = try await context.scope(rights, for: [.find])
        try scope.access.require(.find)
        let parameters = request.uri.queryParameters
        var query = SyncFeed.Query(keys: try request.keys)
        if let filter = try request.filter.map({ try LiveRequest.filter($0, in: scope) }) {
            (query.condition, query.isIndexed) = (filter.condition, filter.isIndexed)
        }
        if let text = parameters["limit"] {
            query.limit = try ListQuery.integer(text, "limit", in: 1...ListQuery.maximumLimit)
        }
        if let text = parameters["wait"] {
            query.wait = .seconds(try ListQuery.integer(text, "wait", in: 0...SyncFeed.maximumWaitInSeconds))
        }
        return (query, scope)
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
