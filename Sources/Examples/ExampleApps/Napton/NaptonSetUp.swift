import Foundation
import MartletKit

extension Napton {
    static let addressBook = "address-book"
    static let kickIn = "kick-in"

    /// Creates the app on the server, with two definitions: the address book of Napton's manual, and the events app of
    /// its thesis, as both were before any change.
    static func setUp(_ developer: Developer) async throws -> ExampleApp {
        let app = try await developer.makeApp("Napton", bundleID: "org.example.napton")
        try await app.declare(
            schemas: PackageResources.NaptonSchemas_json, rules: PackageResources.NaptonRules_json)
        for event in events { try await app.manage("POST", "storage/events", event) }
        let definitions = [
            (addressBook, PackageResources.address_book_json), (kickIn, PackageResources.kick_in_json),
        ]
        for (name, definition) in definitions {
            try await app.manage(
                "PUT", "config/definition/" + name, bytes: definition, headers: ["if-none-match": "*"])
            try await publish(name, on: app)
        }
        return app
    }

    private static func publish(_ definition: String, on app: ExampleApp) async throws {
        let version = try await app.manage("POST", "config/definition/\(definition)/publish")["version"] ?? .null
        try await Story.waitForCopies(toKnow: "version \(version) of \(definition)") {
            do {
                let answer = try await JSON(parsing: manifest(of: definition, in: app))
                return answer["manifest"]?["version"] == version
            } catch let error as MartletError where error.status == 404 {
                return false
            }
        }
    }

    /// The signed manifest of a definition, as phones get it.
    private static func manifest(of definition: String, in app: ExampleApp) async throws -> Data {
        let call = Call(app.url, headers: ["x-martlet-secret": app.key("secret")])
        return try await call.data("GET", "api/\(app.appKey)/definitions/\(definition)/manifest")
    }

    /// Changes the events app by a merge patch.
    static func change(_ patch: [UInt8], on app: ExampleApp) async throws {
        try await app.manage("PATCH", "config/definition/" + kickIn, bytes: patch, headers: ["if-match": "*"])
        try await publish(kickIn, on: app)
    }

    /// The folder that a developer's script puts into the app: the definition as the server has it now.
    static func bundle(_ definition: String, of app: ExampleApp) async throws -> URL {
        let folder = Scratch.folder()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let call = Call(app.url, headers: ["x-martlet-secret": app.key("secret")])
        let path = "api/\(app.appKey)/definitions/\(definition)"
        let manifest = try await manifest(of: definition, in: app)
        try manifest.write(to: folder.appendingPathComponent("manifest.json"))
        for part in try JSON(parsing: manifest)["manifest"]?["parts"]?.arrayValue ?? [] {
            guard let digest = part["sha256"]?.stringValue else { continue }
            try await call.data("GET", "\(path)/parts/\(digest)").write(
                to: folder.appendingPathComponent(digest + ".json"))
        }
        return folder
    }

    /// Adds the photographer's picture to each event: a file of the app, with a link that is valid for a week.
    static func addPictures(to app: ExampleApp) async throws {
        try await app.manage("PUT", "upload/kick-in/event.png", bytes: PackageResources.ball_png)
        let link = try await app.manage(
            "POST", "upload-link/kick-in/event.png", ["expiresInSeconds": .init(7 * 24 * 3_600)])
        guard let path = link["path"]?.stringValue else { throw StoryError("There is no link to the picture.") }
        for event in try await app.manage("GET", "storage/events")["data"]?.arrayValue ?? [] {
            let id = event["_id"]?.stringValue ?? ""
            try await app.manage("PATCH", "storage/events/" + id, ["image_url": .string("/" + path)])
        }
    }

    private static let events: [JSON] = [
        event("Opening", "Market Square", "2026-08-24T08:00:00Z", "2026-08-24T09:00:00Z", "Everybody meets."),
        event("Chess", "Room 5", "2026-08-24T09:30:00Z", "2026-08-24T11:00:00Z", "Bring a board."),
        event("Pub quiz", "The Vestingbar", "2026-08-25T19:00:00Z", "2026-08-25T22:00:00Z", "Teams of six."),
    ]

    private static func event(
        _ title: String, _ place: String, _ start: String, _ end: String, _ description: String
    ) -> JSON {
        [
            "title": .string(title), "place": .string(place), "description": .string(description),
            "start": ["__type": "Date", "iso": .string(start)], "end": ["__type": "Date", "iso": .string(end)],
            "location": ["__type": "GeoPoint", "latitude": 52.22, "longitude": 6.89],
        ]
    }
}

/// A network on which somebody changes the server's answers.
struct TamperingNetwork: HTTPTransport {
    private static let network = URLSessionTransport()

    /// Called with the path of a request and the text of the answer; returns the changed text.
    let change: @Sendable (_ path: String, _ text: String) -> String

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        let answer = try await Self.network.send(request, progress: progress)
        let text = change(request.url.path, String(decoding: answer.body, as: UTF8.self))
        return HTTPResponse(status: answer.status, headers: answer.headers, body: Data(text.utf8))
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream { try await Self.network.stream(request) }
}
