import Foundation
import MartletKit

struct SportLook: Sendable {
    let martlet: Martlet

    /// Creates an account and signs in.
    func register(email: String, password: String, profile: Person) async throws -> User {
        let outcome = try await martlet.users.signUp(
            email: email, password: password, profile: try JSON(encoding: profile))
        guard case .signedIn(let user) = outcome else {
            throw MartletError(.signInFailed, "The app's setting requireVerifiedEmail must be off.")
        }
        return user
    }

    /// The signed-in user's id.
    func me() async throws -> String {
        guard let user = try await martlet.users.current else {
            throw MartletError(.notSignedIn, "Nobody is signed in.")
        }
        return user.id
    }

    func arrange(_ title: String, _ sport: String, at place: GeoPoint, on start: Date) async throws -> Stored<Event> {
        let me = try await me()
        return try await martlet.storage.create(
            Event(title: title, category: sport, start: start, place: place, creator: me, participants: [me]))
    }

    /// Open events near a place, the nearest first.
    func events(near place: GeoPoint, within distance: Distance) async throws -> [Stored<Event>] {
        try await martlet.storage.find(
            Event.query().where(\.state == .open).near(\.place, of: place, within: distance))
    }

    func join(_ event: Stored<Event>) async throws -> Stored<Event> {
        try await martlet.storage.update(event, .insert([try await me()], into: \.participants))
    }

    func say(_ text: String, in event: Stored<Event>) async throws -> Stored<Message> {
        try await martlet.storage.create(Message(event: Pointer(event), author: try await me(), text: text))
    }

    /// The chat of an event: at once, and again after each message. Empty for those who do not participate.
    func chat(of event: Stored<Event>) -> LiveList<Message> { martlet.storage.objects(Self.messages(of: event)) }

    static func messages(of event: Stored<Event>) -> Query<Message> {
        Message.query().where(\.event == Pointer(event)).order(by: Field<Date>.created)
    }
}
