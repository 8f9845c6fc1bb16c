import MartletAPI
import MartletCore
import MartletLogic
import MartletTesting
import Testing

@testable import ConfigService

@Suite struct DefinitionRolloutTests {
    /// A flag that is on for app versions from 2.0, and for one user.
    private static let flags = #"""
        {"flags": {"picture": {"type": "boolean", "default": false, "rules": [
            {"when": {"appVersion": {"$vgte": "2.0"}}, "value": true}, {"when": {"userId": "u1"}, "value": true}]}}}
        """#

    @Test("A flag decides who gets a version; everyone else gets the `otherwise` version, under the same number")
    func rollout() async throws {
        try await ConfigApp.run { app in
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            func staged(_ otherwise: Int) throws -> String {
                try DefinitionFixture.kickIn(DefinitionFixture.kickInChange)
                    .merging(DefinitionFixture.json(#"{"rollout":{"flag":"picture","otherwise":\#(otherwise)}}"#)).text
            }
            let refused = try await app.publish(.definition, "kick-in", staged(9))
            #expect(refused.isProblem(.documentRefused) && refused.text.contains("unknown-version"), "\(refused)")
            let early = try await app.publish(.definition, "kick-in", staged(1))
            #expect(early["version"] == "2" && early["findings.0.code"] == "\"unknown-flag\"", "\(early)")
            let path = "/definitions/kick-in/manifest"
            #expect(
                try await app.client("GET", path + "?client=2.0")["manifest.content"] == "1",
                "the flag does not exist yet")

            let flags = try await app.publish(.flags, "default", Self.flags)
            try #require(flags.status == 200, "\(flags)")
            for (query, user, content) in [
                ("?client=2.0", nil, "2"), ("?client=1.9", nil, "1"), ("", nil, "1"), ("", "u1", "2"), ("", "u2", "1"),
            ] {
                let answer = try await app.client("GET", path + query, user: user)
                #expect(
                    answer["manifest.version"] == "2" && answer["manifest.content"] == content, "\(query) \(user ?? "")"
                )
            }

            // The same device downloads both, one after the other.
            var device = DefinitionDownload(app, "kick-in")
            try await device.update("?client=1.9")
            #expect(try device.part("views/EventDetailView")["contents"]?["0"]?["name"] == .string("title"))
            #expect(try await device.update("?client=2.0") == ["views/EventDetailView"])
            #expect(try device.part("app.json")["rollout"] == nil, "clients do not learn who gets the version")

            // The flag is switched off for everyone: the content goes back, but the version number does not decrease.
            try await app.publish(
                .flags, "default", Self.flags.replacing("$vgte", with: "$vlt").replacing("u1", with: "u3"))
            #expect(try await device.update("?client=2.0") == [])
            #expect(device.manifest?.version == 2 && device.manifest?.content == 1)
        }
    }
}
