import Foundation
import MartletKit

enum Meeting {
    /// A phone, simulated: a client with a session of its own.
    static func phone(_ connection: URL) throws -> SportLook {
        let json = try JSON(parsing: Data(contentsOf: connection))
        guard let url = json["url"]?.stringValue.flatMap({ URL(string: $0) }),
            let key = json["appKey"]?.stringValue, let secret = json["secret"]?.stringValue
        else { throw MartletError(.invalidArgument, "\(connection.path) is not a connection.json.") }
        var configuration = Martlet.Configuration(url: url, appKey: key, secret: secret)
        configuration.sessionStore = MemorySessionStore()
        return SportLook(martlet: Martlet(configuration))
    }

    static func run(_ connection: URL, print: (String) -> Void) async throws {
        let (ada, ben) = (try phone(connection), try phone(connection))
        let bern = GeoPoint(latitude: 46.948, longitude: 7.447)

        for (app, name) in [(ada, "Ada"), (ben, "Ben")] {
            let address = "\(name.lowercased())-\(UUID().uuidString.prefix(8).lowercased())@example.org"
            let profile = Person(name: name, place: bern, sports: ["tennis"])
            let user = try await app.register(email: address, password: "correct horse battery", profile: profile)
            print("\(name) is user \(user.id)")
        }

        let match = try await ada.arrange("Tennis", "tennis", at: bern, on: Date().addingTimeInterval(3_600))
        for event in try await ben.events(near: bern, within: .kilometers(5)) { print("Near Ben: \(event.title)") }

        do {
            _ = try await ben.say("May I come?", in: match)
        } catch let error as MartletError {
            print("Ben cannot chat yet: \(error.code.rawValue)")
        }

        _ = try await ben.join(match)
        _ = try await ada.say("I have tennis balls", in: match)
        for try await messages in ben.chat(of: match) {
            print("Ben's chat: \(messages.map(\.text))")
            if messages.isEmpty { continue }
            if messages.count == 1 { _ = try await ben.say("See you there", in: match) } else { break }
        }
    }
}
