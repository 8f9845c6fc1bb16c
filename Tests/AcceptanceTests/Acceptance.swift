import Foundation
import MartletKit
import Testing

@testable import ExampleApps

/// The example apps against a real server. `deploy/test AcceptanceTests` starts one, with simulated third-party
/// services.
enum Acceptance {
    static func developer() throws -> Developer {
        let path = try #require(
            ProcessInfo.processInfo.environment["MARTLET_TEST_CONNECTION"],
            "MARTLET_TEST_CONNECTION is not set: use deploy/test AcceptanceTests.")
        return try Developer(connection: URL(fileURLWithPath: path))
    }

    /// A story for tests: it prints nothing, and throws when a check fails.
    static let story = Story { _ in }
}

/// Expects that the server refuses a call with this code.
func expectRefusal<Answer>(
    _ code: MartletError.Code = .forbidden, sourceLocation: SourceLocation = #_sourceLocation,
    _ call: () async throws -> Answer
) async {
    await #expect(sourceLocation: sourceLocation) {
        _ = try await call()
    } throws: { ($0 as? MartletError)?.code == code }
}
