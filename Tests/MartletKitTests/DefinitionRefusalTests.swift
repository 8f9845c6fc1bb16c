import Foundation
import Testing

@testable import MartletKit
@testable import MartletScreens

@Suite("App definitions that are not to be trusted", .enabled(if: LiveServer.shared != nil))
struct DefinitionRefusalTests {
    struct Attack: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var code = MartletError.Code.definitionRefused
        let change: @Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse

        static func manifest(_ name: String, _ change: @escaping @Sendable (String) -> String) -> Attack {
            Attack(testDescription: name) { request, response in
                guard request.url.path.hasSuffix("/manifest") else { return response }
                let text = change(String(decoding: response.body, as: UTF8.self))
                return HTTPResponse(status: response.status, headers: response.headers, body: Data(text.utf8))
            }
        }
    }

    static let attacks = [
        Attack.manifest("a greater version") { $0.replacingOccurrences(of: "\"version\":2", with: "\"version\":9") },
        .manifest("another digest") { $0.replacingOccurrences(of: "\"sha256\":\"", with: "\"sha256\":\"0") },
        .manifest("a later expiry") { $0.replacingOccurrences(of: "\"expires\":\"2", with: "\"expires\":\"3") },
        .manifest("another signature") { $0.replacingOccurrences(of: "\"signature\":\"", with: "\"signature\":\"A") },
        .manifest("no JSON") { String($0.dropLast()) },
        .manifest("an empty object") { _ in "{}" },
        .manifest("a huge answer") { $0 + String(repeating: " ", count: 2 << 20) },
        .manifest("deep nesting") { _ in String(repeating: "[", count: 100_000) },
        .manifest("balanced nesting") { text in
            let brackets = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
            return "{\"deep\":\(brackets)," + text.dropFirst()
        },
        Attack(testDescription: "another part") { request, response in
            guard request.url.path.contains("/parts/") else { return response }
            return HTTPResponse(status: 200, body: response.body + Data(" ".utf8))
        },
        Attack(testDescription: "a missing part", code: .documentNotFound) { request, response in
            request.url.path.contains("/parts/") ? .problem(404, "document-not-found") : response
        },
    ]

    @Test(arguments: attacks)
    func `a definition changed on the way is refused, and the last good one stays`(attack: Attack) async throws {
        let app = try await PublishedApp("kick-in")
        let (folder, network) = (Scratch.folder(), ChangingTransport())
        let loader = try app.device(folder: folder, network)
        let before = try await PublishedApp.pages(try await loader.start())
        try await app.change(DefinitionFixture.text("kick-in-change"))
        network.answer { attack.change($0, $1) }
        await #expect { try await loader.refresh() } throws: { ($0 as? MartletError)?.code == attack.code }
        #expect(try await loader.start().version == 1)
        let restarted = try app.device(
            folder: folder, ScriptedTransport { _, _ in throw MartletError(.notConnected, "") })
        #expect(try await PublishedApp.pages(try await restarted.start()).detail == before.detail)
        network.answer { $1 }
        #expect(try await loader.start().version == 2)
    }

    @Test func `an old manifest is refused although the latest cannot be used any more`() async throws {
        let app = try await PublishedApp("kick-in")
        let (folder, network) = (Scratch.folder(), ChangingTransport())
        let old = Locked<HTTPResponse?>(nil)
        network.answer { request, response in
            if request.url.path.hasSuffix("/manifest") { old.withLock { $0 = response } }
            return response
        }
        #expect(try await app.device(folder: folder, network).start().version == 1)
        let replayed = old.withLock { $0 }
        try await app.change(DefinitionFixture.text("kick-in-change"))
        #expect(try await app.device(folder: folder, network).start().version == 2)
        for path in FileManager.default.subpaths(atPath: folder.path) ?? [] where path.contains("part-") {
            try Data("{}".utf8).write(to: folder.appendingPathComponent(path))
        }
        network.answer { _, _ in throw MartletError(.notConnected, "") }
        let device = try app.device(folder: folder, network)
        #expect(await device.current == nil)
        network.answer { request, _ in
            guard request.url.path.hasSuffix("/manifest") else { throw MartletError(.notConnected, "") }
            return try #require(replayed)
        }
        await #expect { try await device.refresh() } throws: {
            ($0 as? MartletError)?.message.contains("older") == true
        }
        // With a connection, the device loads the damaged parts of the last good definition again.
        network.answer { $1 }
        #expect(await device.current?.version == 2)
    }

    @Test func `a preview and a definition of a similar name have folders of their own`() throws {
        let url = try #require(URL(string: "http://martlet.test"))
        let configuration = Martlet.Configuration(url: url, appKey: "mk_live_a", secret: "ms_b")
        var preview = DefinitionOptions()
        preview.preview = "token"
        let folders = [
            DefinitionLoader.folderName(of: "x", configuration, preview),
            DefinitionLoader.folderName(of: "preview-x", configuration, DefinitionOptions()),
            DefinitionLoader.folderName(of: "x", configuration, DefinitionOptions()),
        ]
        #expect(Set(folders).count == 3)
    }

    @Test func `an old manifest, an expired one and one of another key are refused`() async throws {
        let app = try await PublishedApp("kick-in")
        let (folder, network) = (Scratch.folder(), ChangingTransport())
        let old = Locked<HTTPResponse?>(nil)
        network.answer { request, response in
            if request.url.path.hasSuffix("/manifest") { old.withLock { $0 = response } }
            return response
        }
        let loader = try app.device(folder: folder, network)
        #expect(try await loader.start().version == 1)
        let replayed = old.withLock { $0 }
        try await app.change(DefinitionFixture.text("kick-in-change"))
        #expect(try await loader.start().version == 2)
        network.answer { request, response in
            request.url.path.hasSuffix("/manifest") ? try #require(replayed) : response
        }
        for device in [loader, try app.device(folder: folder, network)] {
            await #expect { try await device.refresh() } throws: {
                ($0 as? MartletError)?.message.contains("older") == true
            }
            #expect(await device.current?.version == 2)
        }
        // A new device recognizes an old definition only if it has expired.
        let later = try app.device(network) { $0.clock.now = { Date().addingTimeInterval(10 * 86_400) } }
        await #expect { try await later.refresh() } throws: {
            ($0 as? MartletError)?.message.contains("expired") == true
        }
        // The accepted definition stays valid, but its tag no longer proves that nothing has changed.
        let accepted = try app.device(folder: folder, network) {
            $0.clock.now = { Date().addingTimeInterval(10 * 86_400) }
        }
        #expect(try await accepted.start().version == 2)
        #expect(network.sent.last?.headers["if-none-match"] == nil)
        let foreign = try app.device { $0.definitionKeys = ["11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"] }
        await #expect { try await foreign.refresh() } throws: { ($0 as? MartletError)?.code == .definitionRefused }
        let trusting = try app.device { $0.definitionKeys = [] }
        await #expect { try await trusting.refresh() } throws: { ($0 as? MartletError)?.code == .invalidArgument }
        // After a change of the key, the stored definition is not used.
        let changed = try app.device(folder: folder) {
            $0.definitionKeys = ["11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"]
        }
        #expect(await changed.current == nil)
    }
}
