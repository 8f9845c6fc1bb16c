import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A plain HTTP server on a free port of this machine, until it is stopped.
final class SimulatorServer: Sendable {
    struct Request: Sendable {
        var method: String
        var path: String
        /// By lower-case name.
        var headers: [String: String]
        var body: [UInt8]
    }

    struct Answer: Sendable {
        var status: Int
        var headers: [(String, String)] = []
        var body = ""
    }

    private static let maximumBodySizeInBytes = 1 << 20

    let port: Int
    private let channel: any Channel
    private let task: Task<Void, any Error>

    private init(port: Int, _ channel: any Channel, _ task: Task<Void, any Error>) {
        self.port = port
        self.channel = channel
        self.task = task
    }

    static func start(_ answer: @escaping @Sendable (Request) async throws -> Answer) async throws -> SimulatorServer {
        let (channels, channel) = AsyncStream.makeStream(of: (any Channel).self)
        let responder = CallbackResponder { (request: Hummingbird.Request, _: BasicRequestContext) in
            try await Self.respond(request, answer)
        }
        let application = Application(
            responder: responder, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel.yield($0) }, logger: Logger(label: "simulator") { _ in SwiftLogNoOpLogHandler() }
        )
        let task = Task {
            defer { channel.finish() }
            try await application.run()
        }
        for await found in channels { return SimulatorServer(port: found.localAddress?.port ?? 0, found, task) }
        try await task.value
        throw CancellationError()
    }

    /// Accepts no more connections and closes the existing ones a second later.
    func stop() {
        Task { [channel, task] in
            await channel.stopAccepting()
            try? await Task.sleep(for: .seconds(1))
            channel.close(promise: nil)
            task.cancel()
        }
    }

    private static func respond(
        _ request: Hummingbird.Request, _ answer: @Sendable (Request) async throws -> Answer
    ) async throws -> Response {
        var headers: [String: String] = [:]
        for field in request.headers { headers[field.name.canonicalName] = field.value }
        let body = try await request.body.collect(upTo: maximumBodySizeInBytes)
        let received = Request(
            method: request.method.rawValue, path: request.uri.path, headers: headers,
            body: Array(body.readableBytesView))
        let reply = try await answer(received)
        var response = Response(
            status: .init(code: reply.status), body: .init(byteBuffer: ByteBuffer(string: reply.body)))
        for (name, value) in reply.headers { if let name = HTTPField.Name(name) { response.headers[name] = value } }
        return response
    }
}
