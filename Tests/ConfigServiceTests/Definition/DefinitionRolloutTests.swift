import MartletAPI
import MartletCore
import MartletTesting
import NIOCore
import Testing

@testable import ConfigService

@Suite struct DefinitionRolloutTests {
    /// On for one device.
    private struct OneDevice: DefinitionRollout {
        func isOn(_ flag: String, for unit: RolloutUnit, in space: LiveSpace) -> Bool? { flag == "picture" ? unit.deviceID == "d1" : nil }
    }

    @Test("A flag says who gets a version, and everybody else gets the one that it names, under the same number")
    func rollout() async throws {
        try await ConfigApp.run { app in
            let key = DocumentKey(.definition, "kick-in")
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            let change = try DefinitionFixture.kickIn(DefinitionFixture.kickInChange).merging(DefinitionFixture.json(#"{"rollout":{"flag":"picture","otherwise":9}}"#))
            let refused = try await app.publish(.definition, "kick-in", change.text)
            #expect(refused.isProblem(.documentRefused) && refused["findings.0.code"] == "\"unknown-version\"", "\(refused)")
            let staged = change.merging(try DefinitionFixture.json(#"{"rollout":{"otherwise":1}}"#))
            let published = try await app.publish(.definition, "kick-in", staged.text)
            #expect(published["version"] == "2", "\(published)")

            let space = try await app.service.live.current(app.space)
            let live = try #require(space[key])
            let choice = DefinitionChoice(editions: DefinitionEditions(versions: app.service.versions), rollout: OneDevice())
            let everything = ClientCapabilities(client: nil, components: nil)
            func edition(_ device: String?) async throws -> DefinitionEdition {
                try await choice.edition(of: live, for: RolloutUnit(userID: nil, deviceID: device, client: nil), with: everything, in: space)
            }
            #expect(try await edition("d1").version == 2)
            #expect(try await edition("d2").version == 1)
            #expect(try await edition(nil).version == 1)

            // Both are downloaded by the same addresses.
            let manifests = DefinitionManifests(keys: app.service.definitionKeys)
            for (device, content) in [("d1", "2"), ("d2", "1")] {
                let edition = try await edition(device)
                let manifest = try JSONValue(parsing: try await manifests.manifest(of: edition, live: live, in: app.space).manifest.utf8)
                #expect(manifest["version"]?.text == "2" && manifest["content"]?.text == content)
                for part in edition.definition.parts { #expect(try await choice.part(part.sha256, of: live, in: space)?.path == part.path) }
            }
            let root = try #require(try await edition("d1").definition.parts.first)
            #expect(!String(buffer: root.content).contains("rollout"), "who gets it is nobody's business")
        }
    }
}
