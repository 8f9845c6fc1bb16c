import Foundation
import HTTPTypes
import Hummingbird
import MartletCore
import NIOCore
import Synchronization

/// An app's own server that receives webhooks. Each receiver has its own address on a server in this process, records
/// requests and answers as specified.
public final class HookReceiver: Sendable {
    public struct Received: Sendable {
        public var headers: [String: String]
        public var body: String

        public subscript(path: String) -> String? {
            let json = try? JSONValue(parsing: body.utf8)
            return path.split(separator: ".").reduce(json) { $0?[$1] }?.text
        }
    }

    public typealias Reply = @Sendable (Received) async throws -> (status: Int, body: String)

    public let url: String
    private let reply: Reply
    private let state = Mutex<[Received]>([])

    public var received: [Received] { state.withLock { $0 } }

    public init(_ reply: @escaping Reply = { _ in (200, "{}") }) async throws {
        let key = UUID().uuidString
        url = "http://127.0.0.1:\(try await HookServer.shared.port())/\(key)"
        self.reply = reply
        HookServer.receivers.withLock { $0[key] = self }
    }

    /// Waits until at least `count` requests have arrived.
    public func wait(for count: Int) async throws {
        try await eventually("\(count) requests have arrived, not \(received.count)") { received.count >= count }
    }

    fileprivate func answer(_ request: Request) async throws -> Response {
        var headers: [String: String] = [:]
        for field in request.headers { headers[field.name.canonicalName] = field.value }
        let body = try await request.body.collect(upTo: 8 << 20)
        let received = Received(headers: headers, body: String(buffer: body))
        state.withLock { $0.append(received) }
        let (status, text) = try await reply(received)
        var response = Response(status: .init(code: status), body: .init(byteBuffer: ByteBuffer(string: text)))
        if status / 100 == 3 { response.headers[.location] = text }
        if status == 429 { response.headers[.retryAfter] = text }
        return response
    }
}

private actor HookServer {
    static let shared = HookServer()
    static let receivers = Mutex<[String: HookReceiver]>([:])

    private var task: Task<Int, any Error>?

    func port() async throws -> Int {
        let task =
            task
            ?? Task {
                let router = Router(context: BasicRequestContext.self)
                // The second path is the path of a trace collector.
                for path: RouterPath in ["/:key", "/:key/v1/traces"] {
                    router.post(path) { request, context in
                        let key = context.parameters.get("key") ?? ""
                        guard let receiver = Self.receivers.withLock({ $0[key] }) else {
                            return Response(status: .notFound)
                        }
                        return try await receiver.answer(request)
                    }
                }
                let (ports, port) = AsyncStream.makeStream(of: Int.self)
                let application = Application(
                    router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                    onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: .silent)
                Task { try await application.run() }
                for await port in ports { return port }
                throw CancellationError()
            }
        self.task = task
        return try await task.value
    }
}
