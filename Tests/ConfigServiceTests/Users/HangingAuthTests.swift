import MartletCore
import MartletHTTP
import MartletTesting
import Testing

@testable import ConfigService

/// Auth accepts requests and never answers.
@Suite struct HangingAuthTests {
    private static let flags = """
        {"flags":{"gold":{"type":"boolean","default":false,"rules":[{"when":{"user.profile.plan":"gold"},"value":true}]},
          "others":{"type":"boolean","default":false,"rules":[{"when":{"user.profile.plan":{"$ne":"gold"}},"value":true}]},
          "plain":{"type":"boolean","default":true}}}
        """

    @Test
    func
        `Many evaluations end after a few look-up timeouts, unknown attributes match nothing, and later evaluations do not wait`()
        async throws
    {
        let hole = BlackHole()
        var limits = LookupLimits()
        (limits.concurrent, limits.waiting, limits.pause) = (4, 40, .seconds(3_600))
        try await ConfigApp.run(
            profiles: { _ in
                await hole.call()
                throw OutgoingFailure.timeout
            }, lookups: limits
        ) { app in
            try await app.publish(.flags, "default", Self.flags)
            let overrides =
                #"{"mainSettings":{"menu":"plain"},"overrides":[{"when":{"user.profile.plan":"gold"},"patch":{"mainSettings":{"menu":"gold"}}}]}"#
            try #require(try await app.publish(.configuration, "1.0", overrides).status == 200)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 { group.addTask { try await Self.expectUnknown(app, "user\(number)") } }
                try await eventually("four requests are under way") { hole.callCount >= 4 }
                hole.end()
                try await group.waitForAll()
            }
            // Four requests begin at once. Before the third failure opens the breaker, two more may have begun.
            let callCount = hole.callCount
            #expect((4...6).contains(callCount), "\(callCount)")
            for number in 40..<60 { try await Self.expectUnknown(app, "user\(number)") }
            #expect(try await app.client("GET", "/remote/1.0", user: "user60")["mainSettings.menu"] == #""plain""#)
            #expect(hole.callCount == callCount)
        }
    }

    private static func expectUnknown(_ app: ConfigApp, _ user: String) async throws {
        let answer = try await app.client("POST", "/flags/evaluate", "{}", user: user)
        #expect(
            answer.status == 200 && answer["flags.gold.value"] == "false" && answer["flags.others.value"] == "false",
            "\(answer)")
        #expect(answer["flags.plain.value"] == "true")
    }
}
