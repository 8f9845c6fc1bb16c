import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Testing

@testable import ConfigService

/// Decisions that depend on auth's knowledge of a user (A25).
@Suite struct ProfileTests {
    private static let flags = """
        {"flags":{"gold":{"type":"boolean","default":false,"rules":[{"when":{"user.profile.plan":"gold"},"value":true}]},
          "others":{"type":"boolean","default":false,"rules":[{"when":{"user.profile.plan":{"$ne":"gold"}},"value":true}]},
          "sure":{"type":"boolean","default":false,"rules":[{"when":{"user.emailVerified":true,"user.anonymous":false},"value":true}]}}}
        """
    private static let claim =
        #"{"user":{"id":"ada","profile":{"plan":"gold"},"emailVerified":true,"anonymous":false},"user.profile.plan":"gold"}"#

    private struct Away: Error {}

    private static func run(_ body: @Sendable (ConfigApp) async throws -> Void) async throws {
        try await ConfigApp.run(profiles: { request in
            if request.user == "eve" { throw Away() }
            let plan = request.user == "ada" ? #"{"plan":"gold"}"# : "{}"
            return try JSONValue(
                parsing: #"{"profile":\#(plan),"emailVerified":\#(request.user == "ada"),"anonymous":false}"#.utf8)
        }) { try await body($0) }
    }

    @Test(
        arguments: [
            ("ada", "true", "false", "true"), ("ben", "false", "true", "false"), (nil, "false", "true", "false"),
            ("eve", "false", "false", "false"),
        ]
            as [(String?, String, String, String)])
    func `A flag follows auth's profile, whatever the app says, and unknown attributes match nothing`(
        user: String?, gold: String, others: String, sure: String
    ) async throws {
        try await Self.run { app in
            try await app.publish(.flags, "default", Self.flags)
            let answer = try await app.client("POST", "/flags/evaluate", #"{"context":\#(Self.claim)}"#, user: user)
            #expect(
                answer["flags.gold.value"] == gold && answer["flags.others.value"] == others
                    && answer["flags.sure.value"] == sure, "\(answer)")
        }
    }

    @Test func `Roles and profile are loaded together, and decide a configuration`() async throws {
        try await ConfigApp.run(
            roles: { _ in UserRoles(roles: ["editors"]) },
            profiles: { _ in try JSONValue(parsing: #"{"profile":{"plan":"gold"}}"#.utf8) }
        ) { app in
            let overrides =
                #"{"mainSettings":{"menu":"plain"},"overrides":[{"when":{"user.roles":{"$in":["editors"]},"user.profile.plan":"gold"},"patch":{"mainSettings":{"menu":"gold"}}}]}"#
            try #require(try await app.publish(.configuration, "1.0", overrides).status == 200)
            #expect(try await app.client("GET", "/remote/1.0", user: "ada")["mainSettings.menu"] == #""gold""#)
            #expect(try await app.client("GET", "/remote/1.0")["mainSettings.menu"] == #""plain""#)
        }
    }

    @Test func `Cached answers for one profile are not valid for another`() async throws {
        try await ConfigApp.run(profiles: { _ in
            try JSONValue(parsing: #"{"profile":{"plan":"gold","b":1,"a":[true]}}"#.utf8)
        }) { app in
            try await app.publish(.flags, "default", Self.flags)
            let tag = try #require(try await app.client("POST", "/flags/evaluate", "{}", user: "ada").header("etag"))
            #expect(
                try await app.client("POST", "/flags/evaluate", "{}", user: "ada", headers: ["if-none-match": tag])
                    .status == 304)
            // Another instance knows a newer profile.
            let context = EvaluationContext(
                .object([]), principal: app.principal(.client, user: "ada"), now: .init(timeIntervalSince1970: 0))
            let fresh = UserAttributes(
                roles: app.service.users.roles,
                profiles: UserProfiles { _ in try JSONValue(parsing: #"{"profile":{"plan":"silver"}}"#.utf8) },
                logger: .silent)
            #expect(
                await context.addingUserAttributes(fresh, .init(profile: true)).identity
                    != context.addingUserAttributes(app.service.users, .init(profile: true)).identity)
        }
    }
}
