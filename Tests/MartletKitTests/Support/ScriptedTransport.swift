import Foundation
import Testing

@testable import MartletKit

/// Answers requests as a test says, and remembers them.
final class ScriptedTransport: HTTPTransport {
    private let requests = Locked<[HTTPRequest]>([])
    private let answer: @Sendable (HTTPRequest, Int) async throws -> HTTPResponse

    /// - Parameter answer: Gets the request and how many came before it.
    init(_ answer: @escaping @Sendable (HTTPRequest, Int) async throws -> HTTPResponse) { self.answer = answer }

    var sent: [HTTPRequest] { requests.withLock { $0 } }

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        let number = requests.withLock { requests in
            requests.append(request)
            return requests.count - 1
        }
        return try await answer(request, number)
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream {
        let response = try await send(request, progress: nil)
        let (body, feed) = AsyncThrowingStream<Data, any Error>.makeStream()
        feed.yield(response.body)
        feed.finish()
        return HTTPStream(head: response.head, body: body)
    }
}

extension HTTPResponse {
    init(_ status: Int, _ json: JSON, _ headers: HTTPHeaders = [:]) {
        self.init(status: status, headers: headers, body: json.data)
    }

    static func problem(_ status: Int, _ code: String, _ headers: HTTPHeaders = [:]) -> HTTPResponse {
        HTTPResponse(
            status, ["code": .string(code), "title": "A title", "status": .number(JSONNumber(status))], headers)
    }
}

extension Martlet {
    /// A client whose waits take no time; `waits` gets their lengths.
    static func scripted(
        _ transport: ScriptedTransport, sessions: any SessionStore = MemorySessionStore(),
        waits: Locked<[TimeInterval]> = Locked([]), now: @escaping @Sendable () -> Date = { Date() },
        folder: URL = Scratch.folder(), change: (inout Configuration) -> Void = { _ in }
    ) throws -> Martlet {
        let url = try #require(URL(string: "http://martlet.test"))
        var configuration = Configuration(url: url, appKey: "mk_live_a", secret: "ms_b")
        configuration.transport = transport
        configuration.sessionStore = sessions
        configuration.clock.sleep = { seconds in waits.withLock { $0.append(seconds) } }
        configuration.clock.random = { 0.5 }
        configuration.clock.now = now
        configuration.folder = folder
        configuration.device.language = "en"
        change(&configuration)
        return Martlet(configuration)
    }
}

extension HTTPStream {
    /// The same answer on a connection that breaks after some bytes.
    func cut(after count: Int) -> HTTPStream {
        let (cut, feed) = AsyncThrowingStream<Data, any Error>.makeStream()
        let task = Task {
            var left = count
            do {
                for try await piece in body {
                    feed.yield(piece.prefix(left))
                    left -= piece.count
                    if left <= 0 { throw MartletError(.connectionLost, "Cut.") }
                }
                feed.finish()
            } catch {
                feed.finish(throwing: error)
            }
        }
        feed.onTermination = { _ in task.cancel() }
        return HTTPStream(head: head, body: cut)
    }
}
