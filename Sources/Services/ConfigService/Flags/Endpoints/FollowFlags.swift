import Foundation
import Hummingbird
import MartletCore
import MartletHTTP

/// `GET /ofrep/v1/events`: says when flags have to be fetched again, as server-sent events (OFREP's ADR 8).
///
/// `{"type":"refetchEvaluation","etag":…,"lastModified":…}`: what flags and experiments are live
/// (`LiveSpace.flagsTag`), and seconds since 1970. Who comes back fetches first.
struct FollowFlags: Endpoint {
    static let route = Route(
        .get, "/ofrep/v1/events", "ofrepEvents",
        "OFREP 0.3.0: says when flags have to be fetched again, as server-sent events.",
        callers: .evaluators,
        checksOwnQuery: true,
        answers: [
            .answer(
                200, "Events `message` whose data is {type: refetchEvaluation, etag, lastModified}.",
                .type("text/event-stream", .string))
        ])

    let streams: EventStreams

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.evaluator
        return try await streams.response(
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
