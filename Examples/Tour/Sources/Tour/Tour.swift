import Foundation
import MartletKit

/// Two people and one server: Ada arranges matches, Ben looks for one.
@main
struct Tour {
    static func main() async throws {
        let path = CommandLine.arguments.dropFirst().first ?? ".martlet/connection.json"
        let ada = try Device("Ada", connection: path)
        let ben = try Device("Ben", connection: path)
        try await signUp(ada, ben)
        let match = try await arrange(ada)
        try await find(match, by: ben)
        try await follow(match, by: ben, changedBy: ada)
        try await resolveConflict(match, ada, ben)
        try await sharePicture(ada, ben)
        try await leave(ada, ben)
    }

    static func signUp(_ ada: Device, _ ben: Device) async throws {
        chapter("1. Sign up")
        let name = "ada-\(UUID().uuidString.prefix(8).lowercased())"
        try await ada.martlet.users.signUp(userName: name, password: "correct horse", profile: ["city": "Bern"])
        ada.says("I am \(name). My password never leaves this call; the session is kept and renewed for me.")
        let guest = try await ben.martlet.users.signInAnonymously()
        ben.says("I am a guest, isAnonymous = \(guest.isAnonymous).")
        let user = try await ben.martlet.users.upgrade(userName: "ben" + name.dropFirst(3), password: "battery staple")
        ben.says("Now I am \(user.userName ?? ""), and still the same user: \(user.id == guest.id).")
    }

    static func arrange(_ ada: Device) async throws -> Stored<Match> {
        chapter("2. Store")
        let matches = [
            Match(
                title: "Tennis at the lake", sport: .tennis, players: 1,
                place: GeoPoint(latitude: 46.96, longitude: 7.45)),
            Match(title: "Football", sport: .football, players: 9, place: GeoPoint(latitude: 46.94, longitude: 7.40)),
            Match(
                title: "Tennis, far away", sport: .tennis, players: 3, place: GeoPoint(latitude: 47.37, longitude: 8.54)
            ),
        ]
        let stored = try await ada.martlet.storage.create(contentsOf: matches)
        ada.says("I stored \(stored.count) matches in one call. The first has id \(stored[0].id).")
        return stored[0]
    }

    static func find(_ match: Stored<Match>, by ben: Device) async throws {
        chapter("3. Find")
        let bern = GeoPoint(latitude: 46.95, longitude: 7.44)
        let query = Match.query()
            .where(\.sport == .tennis && \.players < 4)
            .near(\.place, of: bern, within: .kilometers(10))
        for found in try await ben.martlet.storage.find(query) {
            ben.says("Near me: \(found.title), \(found.players) player(s)")
        }
        ben.says("Matches of Ada's kind in all: \(try await ben.martlet.storage.count(Match.query()))")
    }

    static func follow(_ match: Stored<Match>, by ben: Device, changedBy ada: Device) async throws {
        chapter("4. Follow live")
        let position = try await ben.martlet.storage.changes(in: .open, since: nil).cursor
        let watching = Task {
            for try await change in ben.martlet.storage.live(.open, since: position) {
                ben.says("\(change.kind): \(change.object?.title ?? change.id), \(change.object?.players ?? 0) players")
                if change.kind == .left { break }
            }
        }
        try await ada.martlet.storage.update(match, .increment(\.players))
        try await ada.martlet.storage.update(match, .increment(\.players), .insert(["balls"], into: \.needed))
        try await ada.martlet.storage.update(match, .set(\.isOpen, to: false))
        try await watching.value
    }

    static func resolveConflict(_ match: Stored<Match>, _ ada: Device, _ ben: Device) async throws {
        chapter("5. Two changes at once")
        guard var mine = try await ada.martlet.storage.get(Match.self, id: match.id),
            let his = try await ben.martlet.storage.get(Match.self, id: match.id)
        else { return }
        try await ben.martlet.storage.update(his, .set(\.title, to: "Tennis with Ben"))
        mine.players = 4
        do {
            try await ada.martlet.storage.save(mine, ifUnchanged: true)
        } catch let error as MartletError where error.code == .preconditionFailed {
            ada.says("Somebody was faster (\(error.code.rawValue)). Without ifUnchanged only my field is sent:")
            let saved = try await ada.martlet.storage.save(mine)
            ada.says("\(saved.title), \(saved.players) players: both changes are there.")
        }
    }

    static func sharePicture(_ ada: Device, _ ben: Device) async throws {
        chapter("6. Files")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("tour-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0) }).write(to: file)
        let record = try await ada.martlet.files.upload(contentsOf: file, to: "tour/\(UUID().uuidString).bin") {
            progress in
            if progress.fraction == 1 { ada.says("Uploaded \(progress.completedBytes) bytes in parts.") }
        }
        try await ben.martlet.files.download(record.path, to: file)
        ben.says("Downloaded \(try Data(contentsOf: file).count) bytes. A link for others:")
        ben.says(try await ben.martlet.files.link(to: record.path, expiresIn: 60).absoluteString.prefix(100) + "…")
        try await ada.martlet.files.delete(record.path)
    }

    static func leave(_ ada: Device, _ ben: Device) async throws {
        chapter("7. Leave")
        for match in try await ada.martlet.storage.find(Match.query()) { try await ada.martlet.storage.delete(match) }
        try await ben.martlet.users.signOut()
        ben.says("Signed out. Signed in: \(try await ben.martlet.users.current != nil)")
        let receipt = try await ada.martlet.users.deleteAccount(password: "correct horse")
        ada.says("My account is gone; receipt \(receipt.id) shows how far the erasure has got.")
    }

    static func chapter(_ title: String) { print("\n\(title)") }
}

struct Match: Storable {
    static let collection = "TourMatches"
    enum Sport: String, Codable, CaseIterable { case tennis, football }

    var title: String
    var sport: Sport
    var players: Int
    var place: GeoPoint?
    var needed: [String]?
    var isOpen = true
}

extension Query<Match> {
    static var open: Query { Match.query().where(\.isOpen == true) }
}

/// A phone, simulated: a client with a session of its own.
struct Device {
    let name: String
    let martlet: Martlet

    init(_ name: String, connection path: String) throws {
        let connection = try JSON(parsing: Data(contentsOf: URL(fileURLWithPath: path)))
        guard let url = connection["url"]?.stringValue.flatMap(URL.init(string:)),
            let key = connection["appKey"]?.stringValue, let secret = connection["secret"]?.stringValue
        else { throw MartletError(.invalidArgument, "\(path) is no connection.json: start the server with deploy/up.") }
        var configuration = Martlet.Configuration(url: url, appKey: key, secret: secret)
        configuration.sessionStore = MemorySessionStore()
        configuration.deviceName = "\(name)'s phone"
        self.name = name
        martlet = Martlet(configuration)
    }

    func says(_ text: some StringProtocol) { print("   \(name): \(text)") }
}
