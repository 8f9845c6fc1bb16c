import Foundation
import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle

/// Waits with a limit for things to come up.
enum Readiness {
    /// - Throws: `UpError` naming `what` after `limit`.
    static func wait(for what: String, limit: Duration, _ isThere: () async -> Bool) async throws {
        let end = ContinuousClock.now + limit
        while !(await isThere()) {
            guard ContinuousClock.now < end else { throw UpError("\(what) did not get ready within \(limit); see .martlet/log") }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
