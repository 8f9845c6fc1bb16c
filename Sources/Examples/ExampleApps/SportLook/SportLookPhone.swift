import Foundation
import MartletKit

/// SportLook on the phone of somebody in the story.
struct SportLookPhone: Sendable {
    let owner: String
    let app: SportLook
    let userID: String
    let profile: Person
    /// The phone's connection.
    let radio: Radio
    /// The phone's token at the simulated APNs; nil if it is not registered.
    var token: Data?

    /// Registers somebody with a password.
    static func register(
        _ owner: String, in app: ExampleApp, at place: GeoPoint, sports: [String]
    ) async throws -> SportLookPhone {
        let radio = Radio()
        let sportLook = SportLook(martlet: app.phone(of: owner) { $0.transport = radio })
        let profile = Person(name: owner, address: "Bern", place: place, sports: sports, score: 0)
        let address = "\(owner.lowercased())-\(UUID().uuidString.prefix(8).lowercased())@example.org"
        let user = try await sportLook.register(email: address, password: "correct horse battery", profile: profile)
        return SportLookPhone(owner: owner, app: sportLook, userID: user.id, profile: profile, radio: radio)
    }

    /// Registers the phone for push messages, as an app from the App Store does.
    mutating func expectPushes() async throws {
        let token = SimulatedAPNs.token()
        try await app.martlet.notifications.register(token: token, environment: .production)
        self.token = token
    }
}
