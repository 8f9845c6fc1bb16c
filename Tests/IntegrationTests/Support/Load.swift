import AsyncHTTPClient
import Foundation
import MartletAPI
import Synchronization

/// Clients that keep sending requests, whatever happens meanwhile.
enum Load {
    /// Repeats `act` in `count` tasks while `body` runs, passing each its number and the round. Every task finishes its
    /// last round.
    static func run(
        _ count: Int, _ act: @escaping @Sendable (_ client: Int, _ round: Int) async -> Void,
        during body: () async throws -> Void
    ) async throws {
        let end = End()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<count {
                group.addTask {
                    var round = 0
                    while !end.isReached.load(ordering: .relaxed) {
                        await act(client, round)
                        round += 1
                    }
                }
            }
            defer { end.isReached.store(true, ordering: .relaxed) }
            try await body()
        }
    }

    private final class End: Sendable {
        let isReached = Atomic(false)
    }
}

/// Records the answers that clients get under load.
final class LoadResults: Sendable {
    struct Entries: Sendable {
        /// Ids of objects whose write was answered with 2xx.
        var acknowledged: Set<String> = []
        var successes = 0
        /// Problems that request a retry (502, 503, 504), by code.
        var problems: [String: Int] = [:]
        /// Connections refused or broken.
        var broken: [String: Int] = [:]
        /// Everything that must not happen: other statuses, other forms, no response in time.
        var unclean: [String] = []
    }

    private let state = Mutex(Entries())

    var entries: Entries { state.withLock { $0 } }

    /// Records the result of a request; returns whether it succeeded.
    func record(_ id: String? = nil, _ ask: () async throws -> Reply) async -> Bool {
        do {
            let reply = try await ask()
            state.withLock { $0.record(id, reply) }
            return reply.isSuccess
        } catch let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout {
            state.withLock { $0.unclean.append("no answer in time") }
        } catch {
            state.withLock { $0.broken["\(error)", default: 0] += 1 }
        }
        return false
    }

    /// Creates objects `<client>-<round>`, repeating each until it is acknowledged.
    func write(to collection: String, as client: Client, number: Int, round: Int) async {
        let id = "\(number)-\(round)"
        for _ in 0..<Self.maximumAttempts {
            let isStored = await record(id) {
                try await client.post(
                    "storage/\(collection)", #"{"_id":"\#(id)","writer":\#(number),"round":\#(round)}"#)
            }
            if isStored { return }
            try? await Task.sleep(for: .milliseconds(50))
        }
        state.withLock { $0.unclean.append("\(id) was not stored in \(Self.maximumAttempts) attempts") }
    }

    private static let maximumAttempts = 400
}

extension LoadResults.Entries: CustomStringConvertible {
    fileprivate mutating func record(_ id: String?, _ reply: Reply) {
        switch reply.status {
        case 200, 201, 204:
            successes += 1
            if let id { acknowledged.insert(id) }
        case 502...504 where reply.isProblem:
            let detail = reply.string("detail").map { ": " + $0 } ?? ""
            problems["\(reply.status) \(reply.string("code") ?? "")\(detail)", default: 0] += 1
        default:
            unclean.append("\(reply)")
        }
    }

    var description: String { "\(successes) successes, \(problems), broken \(broken), unclean \(unclean.prefix(5))" }
}

extension Client {
    /// Every id in a collection, page by page.
    func allIDs(of collection: String) async throws -> [String] {
        var all: [String] = []
        while true {
            let page = try await get("storage/\(collection)?limit=1000&skip=\(all.count)")
            guard page.status == 200 else { throw Trouble("\(page)") }
            guard !page.ids.isEmpty else { return all }
            all += page.ids
        }
    }
}
