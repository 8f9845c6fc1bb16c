import Foundation
import Testing

@testable import MartletKit
@testable import MartletScreens

@Suite("App definitions that are built into the app", .enabled(if: LiveServer.shared != nil))
struct DefinitionBundleTests {
    private static let noConnection = ScriptedTransport { _, _ in throw MartletError(.notConnected, "") }

    /// The folder as a developer's script makes it: what the server answers now.
    private static func bundle(of app: PublishedApp) async throws -> URL {
        let (folder, network) = (Scratch.folder(), ChangingTransport())
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        network.answer { request, response in
            let isManifest = request.url.path.hasSuffix("/manifest")
            let file = isManifest ? "manifest.json" : request.url.lastPathComponent + ".json"
            try response.body.write(to: folder.appendingPathComponent(file))
            return response
        }
        try await app.device(network).refresh()
        return folder
    }

    private static func options(_ bundle: URL) -> DefinitionOptions {
        var options = PublishedApp.options
        options.bundle = bundle
        return options
    }

    @Test func `the first start needs no connection, and a refresh loads what has changed since`() async throws {
        let app = try await PublishedApp("kick-in")
        let (options, folder) = (Self.options(try await Self.bundle(of: app)), Scratch.folder())
        let offline = try await app.device(folder: folder, Self.noConnection, options: options).start()
        #expect(offline.version == 1 && offline.title == "Kick-In")
        // Every screen is there; the models, which are not part of a definition, are not.
        #expect(try await offline.open("EventDetailController").root.contents.count == 4)
        #expect(try await offline.open().failures.keys.sorted() == ["Events"])
        let loader = try app.device(folder: folder, options: options)
        let same = try await loader.refresh()
        #expect(!same.isNew && same.downloadedParts == [] && same.downloadedBytes > 0)
        try await app.change(DefinitionFixture.text("kick-in-change"))
        #expect(try await loader.refresh().downloadedParts == ["views/EventDetailView"])
        // The app still contains version 1, but the device has stored the newer one.
        #expect(try await app.device(folder: folder, Self.noConnection, options: options).start().version == 2)
        // The device keeps it even if the next version of the app contains no definition.
        #expect(try await app.device(folder: folder, Self.noConnection).start().version == 2)
    }

    @Test func `an update of the app brings a newer definition, and an older one is not used`() async throws {
        let app = try await PublishedApp("kick-in")
        let (folder, old) = (Scratch.folder(), Self.options(try await Self.bundle(of: app)))
        _ = try await app.device(folder: folder).start()
        try await app.change(DefinitionFixture.text("kick-in-change"))
        let new = Self.options(try await Self.bundle(of: app))
        #expect(try await app.device(folder: folder, Self.noConnection, options: new).start().version == 2)
        #expect(try await app.device(folder: folder, Self.noConnection, options: old).start().version == 2)
        // The older one is not used even if the device has lost the newer one.
        for path in FileManager.default.subpaths(atPath: folder.path) ?? [] where path.hasSuffix("manifest.json") {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(path))
        }
        let device = try app.device(folder: folder, Self.noConnection, options: old)
        await #expect { try await device.start() } throws: { ($0 as? MartletError)?.isConnectionFailure == true }
        #expect(try await app.device(folder: folder, Self.noConnection, options: new).start().version == 2)
    }

    @Test func `a part that is damaged on the device is taken from the app`() async throws {
        let app = try await PublishedApp("kick-in")
        let (options, folder) = (Self.options(try await Self.bundle(of: app)), Scratch.folder())
        _ = try await app.device(folder: folder).start()
        for path in FileManager.default.subpaths(atPath: folder.path) ?? [] where path.contains("part-") {
            try Data("{}".utf8).write(to: folder.appendingPathComponent(path))
        }
        let offline = try await app.device(folder: folder, Self.noConnection, options: options).start()
        #expect(try await offline.open("EventDetailController").root.contents.count == 4)
    }

    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (_ name: String, _ text: String) -> String?
    }

    static let damages = [
        Damage(testDescription: "another version") { name, text in
            name == "manifest.json" ? text.replacingOccurrences(of: "\"version\":1", with: "\"version\":9") : text
        },
        Damage(testDescription: "no manifest") { name, text in name == "manifest.json" ? nil : text },
        Damage(testDescription: "a cut-off manifest") { name, text in
            name == "manifest.json" ? String(text.dropLast()) : text
        },
        Damage(testDescription: "other parts") { name, text in name == "manifest.json" ? text : text + " " },
        Damage(testDescription: "no parts") { name, text in name == "manifest.json" ? text : nil },
    ]

    @Test(arguments: damages)
    func `a damaged bundled definition is not used, and the app starts once it has a connection`(damage: Damage)
        async throws
    {
        let app = try await PublishedApp("kick-in")
        let bundle = try await Self.bundle(of: app)
        for name in try FileManager.default.contentsOfDirectory(atPath: bundle.path) {
            let file = bundle.appendingPathComponent(name)
            let text = try String(contentsOf: file, encoding: .utf8)
            if let changed = damage.change(name, text) {
                try Data(changed.utf8).write(to: file)
            } else {
                try FileManager.default.removeItem(at: file)
            }
        }
        let folder = Scratch.folder()
        let offline = try app.device(folder: folder, Self.noConnection, options: Self.options(bundle))
        await #expect { try await offline.start() } throws: { ($0 as? MartletError)?.isConnectionFailure == true }
        let online = try app.device(folder: folder, options: Self.options(bundle))
        #expect(try await online.start().version == 1)
    }

    @Test func `a bundled definition signed by another key, or for another environment, is not used`() async throws {
        let app = try await PublishedApp("kick-in")
        let options = Self.options(try await Self.bundle(of: app))
        let foreign = try app.device(Self.noConnection, options: options) {
            $0.definitionKeys = ["11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"]
        }
        let test = try app.device(Self.noConnection, options: options) { $0.environment = .test }
        for device in [foreign, test] {
            #expect(await device.current == nil)
        }
    }
}
