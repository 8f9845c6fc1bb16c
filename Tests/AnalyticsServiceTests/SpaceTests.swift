import MartletAPI
import MartletPostgres
import Testing

@testable import AnalyticsService

@Suite struct SpaceTests {
    @Test func `every app and environment has one number, even if requested concurrently`() async throws {
        try await AnalyticsApp.run { app in
            let ids = try await withThrowingTaskGroup(of: Int32.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await Spaces(postgres: app.postgres, schema: "analytics").space(of: "app1", .live).id
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
            let other = try await app.service.spaces.space(of: "app1", .test)
            #expect(!ids.contains(other.id))
        }
    }
}
