import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /config/events`: what is published, as server-sent events: `open` with all that is live, then `changed` with
/// what is other than before.
///
/// `{"generation":n,"documents":[{"kind","name","version","sha256"}]}`; `version` is null where nothing is live any
/// more. The id of an event is its generation. Who comes back compares `open` with what they have.
struct FollowConfig: Endpoint {
    static let route = Route(
        .get, "/config/events", "followConfig", "What is published, as server-sent events: open, then changed.",
        callers: .client,
        answers: [
            .answer(
                200,
                """
                Events whose data is {generation, documents: [{kind, name, version, sha256}]}; the id is the \
                generation.
                """, .type("text/event-stream", .string))
        ])

    let streams: EventStreams

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        // Apps see all that is live of theirs; staff what they may read about.
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
