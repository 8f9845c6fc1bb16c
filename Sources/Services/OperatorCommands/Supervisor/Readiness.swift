import Foundation
import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle

/// Waits for conditions, with a time limit.
enum Readiness {
    /// Waits until `isReady` returns true.
    ///
    /// - Parameter log: A log whose last line is added to the error.
    /// - Throws: `UpError` that names `what` after `limit`.
    static func wait(for what: String, log: URL?, limit: Duration, _ isReady: () async -> Bool) async throws {
        let end = ContinuousClock.now + limit
        while !(await isReady()) {
            guard ContinuousClock.now < end else {
                let line = log.flatMap(LastLine.of).map { "; the last line of its log: \($0)" } ?? ""
                throw UpError("\(what) was not ready within \(limit)\(line)")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// The last line of a log file, where a process reports why it ended.
enum LastLine {
    /// At most 500 characters; nil if the log is missing or empty.
    static func of(_ log: URL) -> String? {
        guard let handle = try? FileHandle(forReadingFrom: log) else { return nil }
        defer { try? handle.close() }
        guard let end = try? handle.seekToEnd() else { return nil }
        try? handle.seek(toOffset: end > 8_192 ? end - 8_192 : 0)
        guard let data = try? handle.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").last.map { String($0.prefix(500)) }
    }
}
