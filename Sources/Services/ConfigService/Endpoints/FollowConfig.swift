import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// There is no replay: a client that reconnects compares `open` with what it has.
struct FollowConfig: Endpoint {
    static let route = Route(
        .get, "/config/events", "followConfig", "Streams changes of the live documents as server-sent events.",
        callers: .appsAndStaff,
        answers: [
            .answer(
                200,
                """
                The event `open` with all live documents, then an event `changed` with each change. The data is \
                `{generation, documents: [{kind, name, version, sha256}]}`; `version` is null for a document that is \
                no longer live. The event's id is the generation.
                """, .type("text/event-stream", .string))
        ])

    let streams: EventStreams

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        // Apps follow all their documents, staff only the kinds they may read.
        let kinds = try context.principal.kind == .staff ? Set(context.kinds(may: .read)) : Set(DocumentKind.allCases)
        return try await streams.response(
            try context.space,
            first: { space in
                Self.event("open", space, space.documents.filter { kinds.contains($0.key.kind) }.map { ($0.key, $0) })
            },
            next: { old, new in
                let changed = new.documents.filter { kinds.contains($0.key.kind) && old[$0.key]?.version != $0.version }
                    .map { ($0.key, LiveDocument?.some($0)) }
                let gone = old.documents.filter { kinds.contains($0.key.kind) && new[$0.key] == nil }.map {
                    ($0.key, LiveDocument?.none)
                }
                return changed.isEmpty && gone.isEmpty ? nil : Self.event("changed", new, changed + gone)
            })
    }

    private static func event(_ name: String, _ space: LiveSpace, _ documents: [(DocumentKey, LiveDocument?)])
        -> ServerSentEvent
    {
        let documents = documents.map { key, document in
            #"{"kind":"\#(key.kind.rawValue)","name":"\#(key.name)","version":\#(document.map { String($0.version) } ?? "null"),"#
                + #""sha256":\#(document.map { JSONValue.quote($0.sha256) } ?? "null")}"#
        }
        return ServerSentEvent(
            id: String(space.generation), event: name,
            data: #"{"generation":\#(space.generation),"documents":[\#(documents.joined(separator: ","))]}"#)
    }
}
