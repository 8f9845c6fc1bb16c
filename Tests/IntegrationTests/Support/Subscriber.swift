import AsyncHTTPClient
import Foundation
import MartletCore
import NIOCore
import NIOHTTP1
import Synchronization

/// Reads a collection's live events through the gateway, and reconnects with the last id after each break, like a
/// browser.
final class Subscriber: Sendable {
    private struct State {
        var cursor: String?
        var events: [Int] = []
        var breaks = 0
        var refusal: String?
        var isStopped = false
    }

    private let client: Client
    private let collection: String
    private let state = Mutex(State())

    init(_ client: Client, collection: String) {
        self.client = client
        self.collection = collection
    }

    var isOpen: Bool { state.withLock { $0.cursor != nil } }
    /// The change log's numbers of the received events, in order of receipt.
    var events: [Int] { state.withLock { $0.events } }
    var breaks: Int { state.withLock { $0.breaks } }
    /// A response or event after which a client must not reconnect.
    var refusal: String? { state.withLock { $0.refusal } }

    func stop() { state.withLock { $0.isStopped = true } }

    func run() async {
        while !Task.isCancelled, state.withLock({ !$0.isStopped && $0.refusal == nil }) {
            try? await follow()
            state.withLock { $0.breaks += 1 }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    private func follow() async throws {
        var request = HTTPClientRequest(
            url: Gateways.spread("\(client.url)/api/\(client.appKey)/live/\(collection)"))
        for (name, value) in client.headers { request.headers.add(name: name, value: value) }
        if let cursor = state.withLock({ $0.cursor }) { request.headers.add(name: "last-event-id", value: cursor) }
        let response = try await Self.http.execute(request, deadline: .distantFuture)
        guard response.status == .ok else {
            if response.status.code < 500 { state.withLock { $0.refusal = "\(response.status)" } }
            return
        }
        var pending = ""
        for try await part in response.body {
            pending += String(buffer: part)
            while let end = pending.firstRange(of: "\n\n") {
                take(pending[..<end.lowerBound])
                pending.removeSubrange(..<end.upperBound)
            }
        }
    }

    /// Handles a complete event; a truncated one is ignored.
    private func take(_ block: Substring) {
        var (name, id, data) = ("", nil as String?, "")
        for line in block.split(separator: "\n") {
            if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
            if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
            if line.hasPrefix("data: ") { data = String(line.dropFirst(6)) }
        }
        let seq: Int? =
            if case .number(let literal) = (try? JSONValue(parsing: data.utf8))?["seq"] { Int(literal) } else { nil }
        state.withLock { state in
            if name == "error" { state.refusal = data }
            if let seq { state.events.append(seq) }
            state.cursor = id ?? state.cursor
        }
    }

    /// Streams stay open, so that each has a connection of its own.
    private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        configuration.timeout.connect = .seconds(30)
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()
}
