import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Continues until the client disconnects. `Last-Event-ID` or `since` resumes a stream without lost or repeated events.
/// The first event, `open`, has the initial cursor.
struct FollowCollection: Endpoint {
    static let route = Route(
        .get, "/live/{collection}", "followCollection", "Streams the changes in a collection as server-sent events.",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .collection,
            .filter,
            .keys,
            .query("since", .string, "The cursor after which the stream begins."),
            .header("Last-Event-ID", .string, "The id of the last event received. Takes precedence over `since`."),
        ],
        details: """
            The events are `open`, `create`, `enter`, `update`, `leave`, `delete` and `error`. The id of an event is \
            the cursor with which the stream can be resumed after it.
            """,
        answers: [
            .answer(200, "The stream of events.", .type("text/event-stream", .string))
        ])

    private static let lastEventID = HTTPField.Name("Last-Event-ID")!

    let live: Live

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, principal) = (try context.space, try context.principal)
        let liveRequest = LiveRequest(
            collection: try context.collection, filter: try request.filter, keys: try request.keys)
        let signer = live.changes.signer
        let cursor =
            try request.headers[Self.lastEventID].map {
                try signer.cursor($0, parameter: "Last-Event-ID", of: liveRequest.collection, in: space)
            } ?? request.since(of: liveRequest.collection, in: space, by: signer)
        try await live.check(liveRequest, as: principal, after: cursor, in: space)
        let relay = request.headers[OpenRelay.header].flatMap { live.relays.find($0) }
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody { [live, channel = context.channel] writer in
                let direct = await DirectBody(channel)
                try await live.follow(
                    liveRequest, as: principal, after: cursor, in: space, &writer, direct, relay: relay)
                try await writer.finish(nil)
            })
    }
}

extension Request {
    /// The cursor in `since`.
    func since(of collection: CollectionName, in space: AppSchema, by signer: CursorSigner) throws -> ChangeCursor? {
        try uri.queryParameters["since"].map { try signer.cursor($0, of: collection, in: space) }
    }

    /// The filter's text in `where`.
    var filter: String? {
        get throws {
            guard let text = uri.queryParameters["where"] else { return nil }
            guard text.utf8.count <= LiveRequest.maximumFilterSizeInBytes else {
                throw ServiceError(
                    .limitExceeded, "The filter may have at most \(LiveRequest.maximumFilterSizeInBytes) bytes.",
                    field: "where"
                )
            }
            return String(text)
        }
    }

    var keys: [String]? {
        get throws { try uri.queryParameters["keys"].map { try ListQuery.keys($0, "keys") } }
    }
}
