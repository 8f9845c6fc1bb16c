import Foundation
import Testing

@testable import MartletKit
@testable import MartletScreens

/// A published definition with a name and a collection of its own.
struct PublishedApp {
    static let image = "https://pictures.example/chess.jpg"

    let server: LiveServer
    let name: String
    private let keys: [DefinitionKey]

    static var options: DefinitionOptions {
        var options = DefinitionOptions()
        options.alwaysRefreshes = false
        options.locale = Locale(identifier: "en_GB")
        options.timeZone = TimeZone(identifier: "UTC") ?? .current
        return options
    }

    /// - Parameter members: More members of `app.json`.
    init(_ fixture: String, adding members: String = "") async throws {
        server = try #require(LiveServer.shared)
        name = TestServer.name(fixture + "-").lowercased()
        keys = try await Martlet(server.configuration()).definition(name).publishedKeys()
        var document = try DefinitionFixture.text(fixture)
        document = document.replacingOccurrences(of: "\"root_controller\"", with: members + "\"root_controller\"")
        if fixture == "kick-in" {
            let events = TestServer.name("Events")
            document = document.replacingOccurrences(of: "/storage/events", with: "/storage/" + events)
            try await server.manage(
                "POST", "storage/" + events,
                [
                    "title": "Chess", "place": "Room 5", "description": "Bring a board.",
                    "start": "2026-08-24T09:30:00.000Z", "end": "2026-08-24T11:00:00.000Z",
                    "image_url": .string(Self.image), "location": ["latitude": 52.22, "longitude": 6.89],
                ])
        }
        try await server.manage("PUT", "config/definition/" + name, text: document, headers: ["if-none-match": "*"])
        try await server.manage("POST", "config/definition/\(name)/publish")
    }

    /// Changes the draft by a merge patch.
    func patch(_ text: String) async throws {
        try await server.manage("PATCH", "config/definition/" + name, text: text, headers: ["if-match": "*"])
    }

    func change(_ text: String) async throws {
        try await patch(text)
        try await server.manage("POST", "config/definition/\(name)/publish")
    }

    /// A device that trusts the server's key.
    func device(
        folder: URL = Scratch.folder(), _ transport: any HTTPTransport = URLSessionTransport(),
        options: DefinitionOptions = options, _ change: (inout Martlet.Configuration) -> Void = { _ in }
    ) throws -> DefinitionLoader {
        var configuration = try server.configuration(folder: folder)
        configuration.transport = transport
        configuration.retries = .never
        configuration.definitionKeys = keys
        change(&configuration)
        return Martlet(configuration).definition(name, options)
    }

    static func next(_ definition: AppDefinition, _ node: DefinitionNode) async throws -> DefinitionScreen {
        guard case .open(let screen, _)? = try await definition.perform(node.actions).first else {
            throw MartletError(.invalidArgument, "Nothing was opened.")
        }
        return screen
    }

    /// The list of events and the first event.
    static func pages(_ definition: AppDefinition) async throws -> (list: String, detail: String) {
        let list = try await definition.open()
        let detail = try await next(definition, try #require(list.root.contents.first?.contents.first))
        let renderer = HTMLDefinitionRenderer()
        return (renderer.page(list), renderer.page(detail))
    }
}

/// Writes pages to the folder that `DEFINITION_PAGES` names, to look at them.
enum DefinitionPages {
    static func save(_ page: String, _ name: String) throws {
        guard let folder = ProcessInfo.processInfo.environment["DEFINITION_PAGES"] else { return }
        try Data(page.utf8).write(to: URL(fileURLWithPath: folder).appendingPathComponent(name + ".html"))
    }
}
