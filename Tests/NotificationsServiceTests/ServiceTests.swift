import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

struct ServiceTests {
    @Test func `the service's role can read a space by its id, and an unknown id is nil`() async throws {
        try await NotificationsApp.run { app in
            let space = try await app.space
            #expect(space.appID == "app1")
            #expect(try await app.service.spaces.space(space.id) == space)
            #expect(try await app.service.spaces.space(space.id + 1) == nil)
        }
    }
}
