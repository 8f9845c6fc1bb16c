import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import ServiceLifecycle

/// Carries the frames of many of the gateway's streams over one connection, until it closes. For our own processes
/// only.
///
/// The header `X-Martlet-Relay` has a new id of 32 hexadecimal digits. The gateway's `Relay` documents the format.
struct OpenRelay: Endpoint {
    static let route = Route.betweenProcesses(.get, "/internal/live/relay")

    static let header = HTTPField.Name(HeaderName.relay)!

    let relays: LiveRelays

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let id = request.headers[Self.header] ?? ""
        guard id.utf8.count == 32, id.allSatisfy(\.isHexDigit) else {
            throw ServiceError.unexpectedParameter(
                HeaderName.relay[...], expected: "an id of 32 hexadecimal digits", found: id[...])
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
        // After this, everything that the task has written has reached the event loop.
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
