import Foundation

/// Follows versioned values of another process by long polling.
public enum Feed {
    /// Until cancelled, calls `step` repeatedly with the version that it last returned. The version is -1 initially and
    /// after a failure.
    ///
    /// After a failure everything is requested again, because the other process may have been restored to an older
    /// state. `didFail` is called for the first of several consecutive failures.
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
