import Foundation
import MartletKit
import Testing

@testable import ExampleApps

@Suite("SportLook") struct SportLookTests {
    private static let place = GeoPoint(latitude: 46.95, longitude: 7.45)
    private static let app = Task { try await SportLook.setUp(Acceptance.developer(), Simulators()) }

    /// `ada` has an event in which `ben` participates, and `eve` does not.
    private struct World {
        let ada, ben, eve: SportLookPhone
        let event: Stored<Event>
    }

    /// What a phone has shown of a chat.
    private actor SeenTexts {
        var lists: [[String]] = []

        func add(_ texts: [String]) { lists.append(texts) }
    }

    private static func world() async throws -> World {
        let app = try await app.value
        let ada = try await SportLookPhone.register("Ada", in: app, at: place, sports: ["tennis"])
        let ben = try await SportLookPhone.register("Ben", in: app, at: place, sports: ["tennis"])
        let eve = try await SportLookPhone.register("Eve", in: app, at: place, sports: ["tennis"])
        let event = try await ada.app.arrange("Tennis", "tennis", at: place, on: Date().addingTimeInterval(3_600))
        return World(ada: ada, ben: ben, eve: eve, event: try await ben.app.join(event))
    }

    @Test func `the example runs, and each of its steps has the expected result`() async throws {
        try await SportLookStory.run(Acceptance.developer(), Simulators(), Acceptance.story)
    }

    @Test func `users who do not participate can neither read nor write a chat, on any path`() async throws {
        let world = try await Self.world()
        let message = try await world.ada.app.say("Hello", in: world.event)
        let storage = world.eve.app.martlet.storage
        let all = Message.query()
        #expect(try await storage.find(SportLook.messages(of: world.event)).isEmpty)
        #expect(try await storage.find(all).isEmpty)
        #expect(try await storage.count(all) == 0)
        #expect(try await storage.get(Message.self, id: message.id) == nil)
        #expect(try await storage.changes(in: all, since: nil).changed.isEmpty)
        #expect(try await storage.distinct(\.text, in: all).isEmpty)
        await expectRefusal { try await world.eve.app.say("Me, too", in: world.event) }
        // A message in somebody else's name is refused.
        await expectRefusal {
            try await world.ben.app.martlet.storage.create(
                Message(event: Pointer(world.event), author: world.ada.userID, text: "It is off"))
        }
        await expectRefusal { try await world.ada.app.martlet.storage.update(message, .set(\.text, to: "Bye")) }
        #expect(
            try await world.ben.app.martlet.storage.find(SportLook.messages(of: world.event)).map(\.text) == ["Hello"])
    }

    @Test func `users who have left get no more messages on an open stream`() async throws {
        let world = try await Self.world()
        let seen = SeenTexts()
        let following = Task {
            for try await messages in world.ben.app.chat(of: world.event) { await seen.add(messages.map(\.text)) }
        }
        defer { following.cancel() }
        try await Story.wait(for: "the empty chat") { await seen.lists == [[]] }
        _ = try await world.ada.app.say("One", in: world.event)
        try await Story.wait(for: "the first message") { await seen.lists.last == ["One"] }
        _ = try await world.ben.app.leave(world.event)
        _ = try await world.ada.app.say("Two", in: world.event)
        // Long enough for a message to arrive. This is checked before Ben joins again, because then he may read it.
        try await Task.sleep(nanoseconds: 1_000_000_000)
        #expect(await !seen.lists.joined().contains("Two"))
        _ = try await world.ben.app.join(world.event)
        _ = try await world.ada.app.say("Three", in: world.event)
        try await Story.wait(for: "the third message") { await seen.lists.last?.last == "Three" }
    }

    @Test func `nobody adds, removes or replaces other participants, or another's event`() async throws {
        let world = try await Self.world()
        let storage = world.eve.app.martlet.storage
        await expectRefusal {
            try await storage.update(world.event, .insert([world.eve.userID, world.ada.userID], into: \.participants))
        }
        await expectRefusal {
            try await storage.update(world.event, .remove([world.ben.userID], from: \.participants))
        }
        await expectRefusal { try await storage.update(world.event, .set(\.participants, to: [world.eve.userID])) }
        await expectRefusal { try await storage.update(world.event, .set(\.state, to: .closed)) }
        await expectRefusal { try await storage.replace(world.event) }
        await expectRefusal { try await storage.delete(world.event) }
        var stolen = world.event.value
        stolen.creator = world.ada.userID
        await expectRefusal { try await storage.create(stolen) }
        // She cannot create an event of her own with a participant who did not join.
        for others in [[world.ada.userID], [world.eve.userID, world.ada.userID]] {
            stolen.creator = world.eve.userID
            stolen.participants = others
            await expectRefusal { try await storage.create(stolen) }
        }
        stolen.participants = [world.eve.userID]
        _ = try await storage.create(stolen)
        let now = try #require(try await storage.get(Event.self, id: world.event.id))
        #expect(now.participants == [world.ada.userID, world.ben.userID] && now.version == world.event.version)
        // After the creator has closed the event, nobody can join, but participants can still leave.
        try await world.ada.app.martlet.storage.update(world.event, .set(\.state, to: .closed))
        await expectRefusal { try await world.eve.app.join(world.event) }
        #expect(try await world.ben.app.leave(world.event).participants == [world.ada.userID])
        await expectRefusal {
            try await world.ada.app.martlet.storage.update(
                world.event, .remove([world.ben.userID], from: \.participants))
        }
    }

    @Test func `invitations are between two people, and only participants invite`() async throws {
        let world = try await Self.world()
        await expectRefusal { try await world.eve.app.invite(world.ada.userID, to: world.event) }
        let invitation = try await world.ben.app.invite(world.eve.userID, to: world.event)
        #expect(try await world.ada.app.martlet.storage.count(Invitation.query()) == 0)
        await expectRefusal { try await world.ben.app.answer(invitation, .accepted) }
        try await world.eve.app.answer(invitation, .declined)
        await expectRefusal { try await world.eve.app.answer(invitation, .accepted) }
        #expect(try await world.eve.app.invitations().isEmpty)
    }

    @Test func `profiles are for signed-in people, and their addresses and pictures for their owners`() async throws {
        let world = try await Self.world()
        let guest = try await Self.app.value.phone(of: "Nobody")
        await expectRefusal { try await guest.storage.find(Person.query()) }
        let ada = try #require(try await world.eve.app.martlet.users.user(id: world.ada.userID))
        #expect(ada.email == nil && ada.profile["name"] == "Ada")
        await expectRefusal {
            try await world.eve.app.martlet.storage.update(Person.self, id: world.ada.userID, .set(\.name, to: "Eve"))
        }
        let profile = try await world.ada.app.setPicture(Data(PackageResources.ball_png), in: world.ada.profile)
        let path = try #require(profile.picture?.url)
        await expectRefusal { try await world.eve.app.martlet.files.delete(path) }
        await expectRefusal { try await guest.files.upload(Data("x".utf8), to: "people/x.txt") }
    }
}
