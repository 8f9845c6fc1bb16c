import Foundation
import MartletTesting
import Synchronization
import Testing

/// How many copies of each service the servers of these tests have. With more than one, each server also has two
/// gateways, over which requests are spread: `deploy/test --copies 3`.
enum Copies {
    static let count = max(1, ProcessInfo.processInfo.environment["MARTLET_TEST_COPIES"].flatMap { Int($0) } ?? 1)

    /// The names of the processes that are copies of `process`: `storage`, `storage-2`, `storage-3`.
    static func of(_ process: String) -> [String] {
        // There is one PostgreSQL, and a name with a number means that copy alone.
        guard count > 1, process != "postgres", !process.contains("-") else { return [process] }
        return [process] + (2...(process == "gateway" ? 2 : count)).map { "\(process)-\($0)" }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips tests of exactly one process when there are several copies. docs/SCALING.md lists them.
    static func oneCopy(_ reason: Comment) -> Self { .disabled(if: Copies.count > 1, reason) }
}

/// The gateways of each server.
enum Gateways {
    private struct State {
        /// Address of a server's first gateway → addresses of all.
        var addresses: [String: [String]] = [:]
        var next = 0
    }

    private static let state = Mutex(State())

    static func register(_ addresses: [String]) {
        guard let first = addresses.first else { return }
        state.withLock { $0.addresses[first] = addresses }
    }

    /// The same address at the next gateway in turn, if it is one at a server's first gateway.
    static func spread(_ address: String) -> String {
        let end = address.dropFirst("http://".count).firstIndex(of: "/") ?? address.endIndex
        return state.withLock { state in
            guard let all = state.addresses[String(address[..<end])] else { return address }
            defer { state.next = (state.next + 1) % all.count }
            return all[state.next % all.count] + address[end...]
        }
    }

    /// Makes a gateway the next one.
    fileprivate static func start(at index: Int) {
        state.withLock { $0.next = index }
    }
}

/// Waits until `condition` holds in every gateway and every copy, if its requests are always the same.
///
/// Takes the place of the function of this name in `MartletTesting`. With several copies, a change that one of them has
/// made is in effect elsewhere a moment later. So the condition must hold in as many rounds as there are pairs of a
/// gateway and a copy, because a gateway takes copies in turn.
func eventually(
    _ expectation: String = "the condition holds", within limit: Duration = .seconds(120), file: StaticString = #fileID,
    line: UInt = #line, isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
    let gateways = Copies.of("gateway").count
    _ = try await MartletTesting.eventually(expectation, within: limit, file: file, line: line) {
        () async throws -> Void? in
        for round in 0..<gateways * Copies.count {
            if gateways > 1 { Gateways.start(at: round % gateways) }
            guard try await condition() else { return nil }
        }
        return ()
    }
}
