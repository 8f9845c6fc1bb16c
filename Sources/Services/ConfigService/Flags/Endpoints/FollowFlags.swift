import Foundation
import Hummingbird
import MartletCore
import MartletHTTP

/// `GET /ofrep/v1/events`: says when flags have to be fetched again, as server-sent events (OFREP's ADR 8).
///
/// `{"type":"refetchEvaluation","etag":…,"lastModified":…}`: the content's SHA-256, and seconds since 1970. Who comes back fetches first.
struct FollowFlags: Endpoint {
    let streams: EventStreams

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.evaluator
        return try await streams.response(
            try context.space, first: { _ in nil },
            next: { old, new in
                let flags = new[FlagsKind.key]
                return old[FlagsKind.key]?.version == flags?.version ? nil : Self.event(flags, generation: new.generation)
            })
    }

    private static func event(_ flags: LiveDocument?, generation: Int64) -> ServerSentEvent {
        let etag = flags.map { #","etag":"\#($0.sha256)","lastModified":\#(Int($0.published.timeIntervalSince1970))"# } ?? ""
        return ServerSentEvent(id: String(generation), event: "message", data: #"{"type":"refetchEvaluation"\#(etag)}"#)
    }
}
