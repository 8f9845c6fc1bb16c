import Testing

@testable import ExampleApps

/// The programs of `deploy/bench kit` with little work: they have to succeed, however long they take.
@Suite("Load") struct LoadTests {
    @Test func `twenty people use SportLook at a time`() async throws {
        try await SportLookLoad.run(Acceptance.developer(), people: 20, atATime: 20, pause: 0.01, Acceptance.story)
    }

    @Test func `a phone keeps notes, and finds what the server finds`() async throws {
        try await OfflineLoad.run(Acceptance.developer(), count: 300, Acceptance.story)
    }
}
