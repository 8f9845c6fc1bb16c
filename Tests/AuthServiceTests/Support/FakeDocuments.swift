import Foundation
import MartletCore
import MartletHTTP
import Synchronization

@testable import AuthService

/// Documents of issuers, with a count of fetches.
final class FakeDocuments: Sendable {
    private let state = Mutex<(keys: [String: String], count: Int)>(([:], 0))

    var count: Int { state.withLock { $0.count } }

    /// - Parameter key: nil if it cannot be fetched.
    func set(_ url: String, _ key: String?) { state.withLock { $0.keys[url] = key } }

    func fetch(_ url: String) throws -> JSONValue {
        let key = state.withLock { state in
            state.count += 1
            return state.keys[url]
        }
        guard let key else { throw ProviderFailure.call(.timeout) }
        return try JSONValue(parsing: #"{"key":"\#(key)"}"#.utf8)
    }
}

/// A clock that a test moves.
final class TestClock: Sendable {
    private let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))

    var now: Date { time.withLock { $0 } }

    func advance(_ seconds: TimeInterval) { time.withLock { $0 += seconds } }
}
