import Foundation
import HTTPTypes
import Hummingbird
import MartletCore
import MartletTesting
import NIOCore
import Synchronization

@testable import StorageService

/// An app's own server, as hooks see it: an address of its own on a server in this process, which keeps what it got and answers as told.
final class HookReceiver: Sendable {
    struct Received: Sendable {
        var headers: [String: String]
        var body: String

        subscript(path: String) -> String? {
            let json = try? JSONValue(parsing: body.utf8)
            return path.split(separator: ".").reduce(json) { $0?[$1] }?.text
        }
    }

    typealias Reply = @Sendable (Received) async throws -> (status: Int, body: String)

    let url: String
    private let reply: Reply
    private let state = Mutex<[Received]>([])

    var received: [Received] { state.withLock { $0 } }

    init(_ reply: @escaping Reply = { _ in (200, "{}") }) async throws {
        let key = UUID().uuidString
        url = "http://127.0.0.1:\(try await HookServer.shared.port())/\(key)"
        self.reply = reply
        HookServer.receivers.withLock { $0[key] = self }
    }

    /// Waits until there are `count` requests.
    func wait(for count: Int, seconds: Int = 60) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while received.count < count, .now < deadline { try await Task.sleep(for: .milliseconds(5)) }
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
        let task = task ?? Task {
            let router = Router(context: BasicRequestContext.self)
            router.post("/:key") { request, context in
                let key = context.parameters.get("key") ?? ""
                guard let receiver = Self.receivers.withLock({ $0[key] }) else { return Response(status: .notFound) }
                return try await receiver.answer(request)
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

enum SharedHooks {
    /// Hooks are in this process, and little is waited for.
    static let settings: HookSettings = {
        var settings = HookSettings(secret: Secret("an-internal-secret-of-the-tests-0123456789"))
        settings.arePrivateAddressesAllowed = true
        settings.firstPause = .milliseconds(20)
        settings.maximumPause = .milliseconds(200)
        settings.pollInterval = .milliseconds(50)
        settings.maximumAttempts = 5
        return settings
    }()
}

extension StorageApp {
    /// Makes a hook; returns its secret.
    @discardableResult
    func hook(_ name: String, _ event: String, _ collection: String? = nil, at receiver: HookReceiver, _ more: String = "") async throws -> String {
        let collection = collection.map { #","collection":"\#($0)""# } ?? ""
        let answer = try await master.put("/hooks/\(name)", #"{"event":"\#(event)","url":"\#(receiver.url)"\#(collection)\#(more)}"#)
        guard answer.status == 201, case .string(let secret) = answer.json?["secret"] else { throw HookNotMade(answer: answer) }
        return secret
    }

    struct HookNotMade: Error {
        var answer: Answer
    }
}
