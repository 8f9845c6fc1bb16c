import Foundation
import MartletKit

/// The app SportLook on one phone: what its screens call.
struct SportLook: Sendable {
    let martlet: Martlet

    // MARK: People

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

    /// Stores a picture that everybody may see and only this user may replace, and names it in the profile.
    func setPicture(_ png: Data, in profile: Person) async throws -> Person {
        let me = try await me()
        var profile = profile
        profile.picture = try await martlet.files.upload(
            png, to: "people/\(me).png", readers: [.everyone], writers: [.user(me)]
        ).reference
        try await martlet.users.update(profile: JSON(encoding: profile))
        return profile
    }

    /// A small version of a picture, made by the server.
    func thumbnail(of picture: FileReference) async throws -> Data {
        try await martlet.files.data(at: picture.url, size: .small)
    }

    /// People near a place who like a sport, the nearest first.
    func people(near place: GeoPoint, within distance: Distance, liking sport: String) async throws -> [Stored<Person>]
    {
        try await martlet.storage.find(
            Person.query().where(.contains(\.sports, sport)).near(\.place, of: place, within: distance))
    }

    // MARK: Events

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

    /// Open events on the part of the map that is shown, the earliest first.
    func events(southWest: GeoPoint, northEast: GeoPoint) async throws -> [Stored<Event>] {
        let isOnMap = Condition<Event>.inBox(\.place, southWest: southWest, northEast: northEast)
        return try await martlet.storage.find(
            Event.query().where(\.state == .open && isOnMap).order(by: \.start))
    }

    /// Open events around a place, kept on the phone, where they are found without a connection.
    func eventsOnPhone(around place: GeoPoint) async throws -> OfflineCollection<Event> {
        try await martlet.offline.collection(
            Event.self, where: \.state == .open && .near(\.place, of: place, within: .kilometers(50)))
    }

    func join(_ event: Stored<Event>) async throws -> Stored<Event> {
        try await martlet.storage.update(event, .insert([try await me()], into: \.participants))
    }

    func leave(_ event: Stored<Event>) async throws -> Stored<Event> {
        try await martlet.storage.update(event, .remove([try await me()], from: \.participants))
    }

    // MARK: Chat

    func say(_ text: String, in event: Stored<Event>) async throws -> Stored<Message> {
        try await martlet.storage.create(Message(event: Pointer(event), author: try await me(), text: text))
    }

    /// The chat of an event: at once, and again after each message. Empty for those who do not participate.
    func chat(of event: Stored<Event>) -> LiveList<Message> { martlet.storage.objects(Self.messages(of: event)) }

    static func messages(of event: Stored<Event>) -> Query<Message> {
        Message.query().where(\.event == Pointer(event)).order(by: Field<Date>.created)
    }

    // MARK: Invitations

    func invite(_ userID: String, to event: Stored<Event>) async throws -> Stored<Invitation> {
        try await martlet.storage.create(Invitation(event: Pointer(event), from: try await me(), to: userID))
    }

    /// Invitations that this user has not answered, with their events.
    func invitations() async throws -> [Stored<Invitation>] {
        let me = try await me()
        return try await martlet.storage.find(
            Invitation.query().where(\.to == me && \.state == .sent).include(\.event))
    }

    func answer(_ invitation: Stored<Invitation>, _ answer: Invitation.State) async throws {
        try await martlet.storage.update(invitation, .set(\.state, to: answer))
    }
}
