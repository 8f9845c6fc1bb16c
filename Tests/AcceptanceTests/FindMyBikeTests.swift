import Foundation
import MartletKit
import Testing

@testable import ExampleApps

@Suite("FindMyBike") struct FindMyBikeTests {
    private static let app = Task { try await FindMyBike.setUp(Acceptance.developer(), Simulators()) }

    private static func story() async throws -> FindMyBikeStory {
        FindMyBikeStory(story: Acceptance.story, simulators: Simulators(), app: try await app.value)
    }

    @Test func `the example runs, and each of its steps has the expected result`() async throws {
        try await FindMyBikeStory.run(Acceptance.developer(), Simulators(), Acceptance.story)
    }

    @Test func `a sighting is readable by the bike's owner alone, on every path`() async throws {
        let story = try await Self.story()
        let (ann, bob) = (try await story.phone("Ann"), try await story.phone("Bob"))
        let bike = try await ann.app.report(ann.app.register("Kona", "Dew", colour: "blue", beacon: 9), missing: true)
        try await bob.app.sighted(bike, at: FindMyBikeStory.station)
        let sighting = try #require(try await ann.app.sightings(of: bike).first)
        #expect(sighting.place == FindMyBikeStory.station)
        let storage = bob.app.martlet.storage
        let all = Sighting.query().where(\.bike == Pointer(bike))
        #expect(try await storage.find(all).isEmpty)
        #expect(try await storage.count(all) == 0)
        #expect(try await storage.get(Sighting.self, id: sighting.id) == nil)
        #expect(try await storage.changes(in: all, since: nil).changed.isEmpty)
        await expectRefusal { try await storage.update(sighting, .set(\.consented, to: false)) }
        await expectRefusal { try await ann.app.martlet.storage.update(sighting, .set(\.consented, to: false)) }
        // A field that is hidden from a user cannot be in the user's filters either.
        await expectRefusal { try await storage.find(Bike.query().where(\.owner == ann.userID)) }
    }

    @Test func `bikes belong to their owners`() async throws {
        let story = try await Self.story()
        let (ann, bob) = (try await story.phone("Ann"), try await story.phone("Bob"))
        let bike = try await ann.app.register("Kona", "Dew", colour: "blue", beacon: 10)
        #expect(try await bob.app.martlet.storage.get(Bike.self, id: bike.id) == nil)
        await expectRefusal(.objectNotFound) { try await bob.app.report(bike, missing: true) }
        await expectRefusal { try await ann.app.martlet.storage.update(bike, .set(\.owner, to: bob.userID)) }
        await expectRefusal {
            try await bob.app.martlet.storage.create(Sighting(bike: Pointer(bike), seen: Date(), place: nil))
        }
        // A field that the app does not have, and a value that no beacon sends.
        await expectRefusal {
            try await ann.app.martlet.storage.update(bike, .set(Field<String>("price"), to: "1"))
        }
        await expectRefusal(.documentRefused) {
            try await ann.app.martlet.storage.update(bike, .set(\.beacon, to: 70_000))
        }
    }

    @Test func `a place is refused without consent, and the test environment is closed, too`() async throws {
        let story = try await Self.story()
        for app in [story.app, story.app.inTest] {
            let (ann, bob) = (try await story.phone("Ann", in: app), try await story.phone("Bob", in: app))
            let bike = try await ann.app.report(
                ann.app.register("Kona", "Dew", colour: "blue", beacon: 11), missing: true)
            for consented in [nil, false] {
                let sighting = Sighting(
                    bike: Pointer(bike), seen: Date(), place: FindMyBikeStory.station, consented: consented)
                await expectRefusal { try await bob.app.martlet.storage.create(sighting) }
            }
            #expect(try await ann.app.sightings(of: bike).isEmpty)
        }
    }

    @Test(arguments: ["", "ms_unknown"])
    func `a request without a valid key is refused`(secret: String) async throws {
        let app = try await Self.app.value
        let phone = app.phone(of: "Mallory") { $0.secret = secret }
        await expectRefusal(.unauthorized) { try await phone.users.signInAnonymously() }
        await expectRefusal(.unauthorized) { try await phone.storage.find(Bike.query()) }
    }
}
