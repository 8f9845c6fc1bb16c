import Foundation
import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle

/// Waits with a limit for things to come up.
enum Readiness {
    /// - Throws: `UpError` naming `what` after `limit`.
    ///
    /// - Parameter log: Its last line goes into the error.
    static func wait(for what: String, log: URL?, limit: Duration, _ isThere: () async -> Bool) async throws {
        let end = ContinuousClock.now + limit
        while !(await isThere()) {
            guard ContinuousClock.now < end else {
                let line = log.flatMap(LastLine.of).map { "; the last line of its log: \($0)" } ?? ""
                throw UpError("\(what) did not get ready within \(limit)\(line)")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// The end of a log file, where a process says why it ends.
enum LastLine {
    /// At most 500 characters of it; nil: there is none.
    static func of(_ log: URL) -> String? {
        guard let handle = try? FileHandle(forReadingFrom: log) else { return nil }
        defer { try? handle.close() }
        guard let end = try? handle.seekToEnd() else { return nil }
        try? handle.seek(toOffset: end > 8_192 ? end - 8_192 : 0)
        guard let data = try? handle.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").last.map { String($0.prefix(500)) }
    }
}
