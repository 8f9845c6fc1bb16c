import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import ConfigService

/// How other services learn about live versions.
@Suite struct LiveVersionsTests {
    @Test func `a service is notified of each space's latest published version at once`() async throws {
        try await ConfigApp.run(kinds: Self.kinds) { app in
            let storage = app.gateway.acting(as: .service("storage"))
            let none = try await storage.get("/internal/config/live?after=-1&wait=30")
            #expect(none.status == 200 && none["spaces"] == "[]", "\(none)")
            let number = try #require(none["number"])
            #expect(try await storage.get("/internal/config/live?after=\(number)").status == 204)

            async let waiting = storage.get("/internal/config/live?after=\(number)&wait=30")
            try #require(await app.publish(.configuration, "1.0", #"{"version":"7.1"}"#).status == 200)
            let first = try await waiting
            #expect(
                first["spaces.0.config.version"] == #""7.1""# && first["spaces.0.translation"] == nil
                    && first["spaces.0.appID"] == #""app1""#, "\(first)")
            let answer = try await app.client("GET", "/remote/1.0")
            #expect(first["spaces.0.config.date"] == answer["config.date"], "the same date in the same format")

            try #require(await app.publish(.configuration, "2.0", "{}").status == 200)
            try #require(await app.publish(.translation, "1.0", #"{"version":"1.0"}"#).status == 200)
            var test = app
            test.environment = .test
            try #require(await test.publish(.configuration, "1.0", #"{"version":"t"}"#).status == 200)
            let all = try await poll(storage) {
                $0.spaces.contains { $0.translation != nil }
                    && $0.spaces.contains { $0.environment == .test && $0.config != nil }
            }
            let live = try #require(all.spaces.first { $0.environment == .live })
            #expect(
                live.config?.version == "1" && live.translation?.version == "1.0~1",
                "the version of a translation begins with the name in its path")
            #expect(all.spaces.count == 2)
            #expect(all.spaces.first { $0.environment == .test }?.config?.version == "t")

            try #require(await app.master("POST", "/config/configuration/2.0/withdraw").status == 204)
            _ = try await poll(storage) { versions in versions.spaces.contains { $0.config?.version == "7.1" } }
        }
    }

    @Test func `only internal services may read live versions`() async throws {
        try await ConfigApp.run { app in
            let answers = try await [
                app.master("GET", "/internal/config/live"), app.client("GET", "/internal/config/live"),
            ]
            #expect(answers.allSatisfy { $0.isProblem(.forbidden) }, "\(answers)")
        }
    }

    private static let kinds = Kinds([.configuration: ConfigurationKind(), .translation: PlainKind()])

    private func poll(_ storage: ServiceClient, _ isExpected: (LiveVersions) -> Bool) async throws -> LiveVersions {
        var number: Int64 = -1
        for _ in 0..<100 {
            let answer = try await storage.get("/internal/config/live?after=\(number)&wait=5")
            guard answer.status == 200 else { continue }
            let versions = try JSONDecoder().decode(LiveVersions.self, from: Data(answer.text.utf8))
            if isExpected(versions) { return versions }
            number = versions.number
        }
        throw NeverArrived()
    }

    private struct NeverArrived: Error {}
}
