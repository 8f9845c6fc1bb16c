import Foundation
import Hummingbird
import MartletCore
import MartletHTTP

/// Implements OFREP's ADR 8. `etag` identifies the live flags and experiments (`LiveSpace.flagsTag`). There is no
/// replay: a client that reconnects fetches its flags first.
struct FollowFlags: Endpoint {
    static let route = Route(
        .get, "/ofrep/v1/events", "ofrepEvents",
        "Streams a server-sent event whenever flags must be fetched again, by OFREP 0.3.0.",
        callers: .evaluators,
        checksOwnQuery: true,
        answers: [
            .answer(
                200,
                """
                Events `message` with the data `{type, etag, lastModified}`; `type` is `refetchEvaluation`, \
                `lastModified` in seconds since 1970.
                """,
                .type("text/event-stream", .string))
        ])

    let streams: EventStreams

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await streams.response(
            try context.space, first: { _ in nil },
            next: { old, new in old.flagsTag == new.flagsTag ? nil : Self.event(new) })
    }

    private static func event(_ space: LiveSpace) -> ServerSentEvent {
        let last = ([space[FlagsKind.key]].compactMap(\.self) + space.documents(of: .experiment)).map(\.published).max()
        let etag =
            space.flagsTag.map { #","etag":"\#($0)","lastModified":\#(Int(last?.timeIntervalSince1970 ?? 0))"# } ?? ""
        return ServerSentEvent(
            id: String(space.generation), event: "message", data: #"{"type":"refetchEvaluation"\#(etag)}"#)
    }
}
