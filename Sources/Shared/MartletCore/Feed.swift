import Foundation

/// What one of our processes follows of another: values by version, each asked for when the one before has come.
public enum Feed {
    /// Calls `step` with the version it returned before, -1 at first and after a failure, until cancelled.
    ///
    /// After a failure everything is asked for again: who tells may have been restored to an older state. `didFail` is called at the first
    /// failure in a row.
    public static func follow(_ step: (Int64) async throws -> Int64, didFail: (any Error) -> Void) async {
        var version: Int64 = -1
        var failures = 0
        while !Task.isCancelled {
            do {
                version = try await step(version)
                failures = 0
            } catch {
                guard !Task.isCancelled else { return }
                version = -1
                failures += 1
                if failures == 1 { didFail(error) }
                let seconds = min(5, 0.1 * Double(1 << min(failures, 6))) * Double.random(in: 0.5...1)
                try? await Task.sleep(for: .seconds(seconds))
            }
        }
    }
}
