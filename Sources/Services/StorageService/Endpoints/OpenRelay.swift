import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import ServiceLifecycle

/// `GET /internal/live/relay` with a new id (32 hexadecimal digits) in `X-Martlet-Relay`: what goes to many of the
/// gateway's streams, until it closes.
///
/// For our own processes only. The shape of what comes: the gateway's `Relay`.
struct OpenRelay: Endpoint {
    static let route = Route.betweenProcesses(.get, "/internal/live/relay")

    static let header = HTTPField.Name(HeaderName.relay)!

    let relays: LiveRelays

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let id = request.headers[Self.header], id.utf8.count == 32, id.allSatisfy(\.isHexDigit) else {
            throw HTTPProblem(.invalidParameter, "The header must name a relay.", field: HeaderName.relay)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/octet-stream", .cacheControl: "no-store"],
            body: ResponseBody { [relays, channel = context.channel] writer in
                try await writer.write(LiveRelay.hello)
                if let direct = await DirectBody(channel) { try await Self.serve(id, direct, relays) }
                try await writer.finish(nil)
            })
    }

    private static func serve(_ id: String, _ direct: DirectBody, _ relays: LiveRelays) async throws {
        // What the task has written is with the event loop when this is done.
        try await direct.eventLoop.submit {}.get()
        let relay = LiveRelay(direct)
        guard relays.add(relay, as: id) else { return }
        defer {
            relays.remove(id)
            relay.close()
        }
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        direct.onClose { end.finish() }
        await withGracefulShutdownHandler {
            for await _ in ended {}
        } onGracefulShutdown: {
            end.finish()
        }
    }
}
