import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Synchronization
import Testing

@testable import ConfigService

/// Decisions that depend on the roles in storage.
@Suite struct RoleTests {
    private static let flags = """
        {"flags":{"editor":{"type":"boolean","default":false,"rules":[{"when":{"user.roles":{"$in":["editors"]}},"value":true}]},
          "outsider":{"type":"boolean","default":false,"rules":[{"when":{"user.roles":{"$nin":["editors"]}},"value":true}]}}}
        """
    /// What an app might claim about itself.
    private static let claim =
        #"{"targetingKey":"phone","user":{"id":"ada","roles":["editors"]},"userId":"ada","user.roles":["editors"]}"#

    private struct Away: Error {}

    /// A storage service in which ada is an editor, and which cannot answer for eve.
    private final class Roles: Sendable {
        private let loaded = Mutex<[String]>([])

        var requests: [String] { loaded.withLock { $0 } }

        func load(_ request: UserDataRequest) throws -> UserRoles {
            loaded.withLock { $0.append("\(request.app) \(request.environment.rawValue) \(request.user)") }
            if request.user == "eve" { throw Away() }
            return UserRoles(roles: request.user == "ada" ? ["authors", "editors"] : [])
        }
    }

    private static func run(_ body: @Sendable (ConfigApp, Roles) async throws -> Void) async throws {
        let roles = Roles()
        try await ConfigApp.run(roles: { try roles.load($0) }) { try await body($0, roles) }
    }

    private static func evaluate(_ app: ConfigApp, _ user: String?, headers: [String: String] = [:]) async throws
        -> Answer
    {
        try await app.client("POST", "/flags/evaluate", #"{"context":\#(claim)}"#, user: user, headers: headers)
    }

    @Test(
        arguments: [
            ("ada", "true", "false"), ("ben", "false", "true"), (nil, "false", "true"), ("eve", "false", "false"),
        ] as [(String?, String, String)])
    func `A flag follows storage's roles, whatever the app says, and unknown roles match nothing`(
        user: String?, editor: String, outsider: String
    ) async throws {
        try await Self.run { app, roles in
            try await app.publish(.flags, "default", Self.flags)
            let answer = try await Self.evaluate(app, user)
            #expect(answer["flags.editor.value"] == editor && answer["flags.outsider.value"] == outsider, "\(answer)")
            #expect(roles.requests == (user.map { ["app1 live \($0)"] } ?? []))
        }
    }

    @Test func `Roles are requested only if a live rule depends on them`() async throws {
        try await Self.run { app, roles in
            let plain =
                #"{"flags":{"own":{"type":"boolean","default":false,"rules":[{"when":{"user.id":"ada"},"value":true}]}}}"#
            try await app.publish(.flags, "default", plain)
            #expect(try await Self.evaluate(app, "ada")["flags.own.value"] == "true")
            try #require(
                try await app.publish(
                    .configuration, "1.0",
                    #"{"overrides":[{"when":{"user.id":"ada"},"patch":{"mainSettings":{"a":1}}}]}"#
                ).status == 200)
            #expect(try await app.client("GET", "/remote/1.0", user: "ada")["mainSettings.a"] == "1")
            #expect(roles.requests == [])
            try await app.publish(.flags, "default", Self.flags)
            #expect(try await Self.evaluate(app, "ada")["flags.editor.value"] == "true")
            #expect(roles.requests == ["app1 live ada"])
        }
    }

    @Test func `Cached answers for one role are not valid for another`() async throws {
        try await Self.run { app, _ in
            try await app.publish(.flags, "default", Self.flags)
            let tag = try #require(try await Self.evaluate(app, "ada").header("etag"))
            #expect(try await Self.evaluate(app, "ada", headers: ["if-none-match": tag]).status == 304)
            #expect(try await Self.evaluate(app, "ben", headers: ["if-none-match": tag]).status == 200)
            let (one, other) = (
                UserAttributes(
                    roles: RoleNames { _ in UserRoles(roles: ["a"]) }, profiles: app.service.users.profiles,
                    logger: .silent), app.service.users
            )
            let context = EvaluationContext(.object([]), principal: app.principal(.client, user: "ada"), now: Date())
            let identities = await [
                context.identity, context.addingUserAttributes(one, .init(roles: true)).identity,
                context.addingUserAttributes(other, .init(roles: true)).identity,
                context.addingUserAttributes(other, .init()).identity,
            ]
            #expect(Set(identities).count == 3 && identities[0] == identities[3], "\(identities)")
        }
    }

    @Test func `A server with its own key supplies the roles in its request`() async throws {
        try await Self.run { app, roles in
            try await app.publish(.flags, "default", Self.flags)
            for kind in [Principal.Kind.evaluation, .master] {
                let answer = try await app.gateway.acting(as: app.principal(kind)).post(
                    "/ofrep/v1/evaluate/flags/editor", #"{"context":\#(Self.claim)}"#)
                #expect(answer["value"] == "true", "\(answer)")
            }
            // If the gateway names a user, storage's roles count.
            let named = try await app.gateway.acting(as: app.principal(.master, user: "ben")).post(
                "/flags/evaluate", #"{"context":\#(Self.claim)}"#)
            #expect(named["flags.editor.value"] == "false" && roles.requests == ["app1 live ben"], "\(named)")
        }
    }

    @Test func `A configuration's overrides follow roles, and gateways do not cache such answers`() async throws {
        try await Self.run { app, roles in
            let overrides =
                #"{"mainSettings":{"menu":"plain"},"overrides":[{"when":{"user.roles":{"$in":["editors"]}},"patch":{"mainSettings":{"menu":"editor"}}}]}"#
            try #require(try await app.publish(.configuration, "1.0", overrides).status == 200)
            try #require(
                try await app.publish(.configuration, "0.9", #"{"mainSettings":{"menu":"old"}}"#).status == 200)
            let said = #"{"appVersion":"1.0","attributes":{"user":{"id":"ada","roles":["editors"]}}}"#
            for (user, menu) in [("ada", "editor"), ("ben", "plain"), (nil, "plain"), ("eve", "plain")] {
                let answer = try await app.client("POST", "/remote", said, user: user)
                #expect(answer["mainSettings.menu"] == "\"\(menu)\"", "\(user ?? "-"): \(answer)")
                let tag = try #require(answer.header("etag"))
                let known = try await app.client("GET", "/remote/1.0", user: user, headers: ["if-none-match": tag])
                #expect(known.status == 304 && known.header(HeaderName.generation) == nil, "\(known)")
            }
            #expect(Set(roles.requests) == ["app1 live ada", "app1 live ben", "app1 live eve"])
            let old = try await app.client("GET", "/remote/0.9", user: "ada")
            let tag = try #require(old.header("etag"))
            #expect(
                try await app.client("GET", "/remote/0.9", user: "ada", headers: ["if-none-match": tag]).header(
                    HeaderName.generation) != nil, "the same for all")
        }
    }

    @Test func `An experiment can be restricted to a role`() async throws {
        try await Self.run { app, _ in
            try await app.publish(.flags, "default", #"{"flags":{"title":{"type":"string","default":"live"}}}"#)
            let experiment =
                #"{"title":"T","state":"draft","unit":"user","condition":{"user.roles":{"$in":["editors"]}},"variations":[{"key":"control"},{"key":"b","flags":{"title":"b"}}]}"#
            try #require(
                try await app.master("PUT", "/config/experiment/title", experiment, headers: ["if-none-match": "*"])
                    .status == 201)
            try #require(try await app.master("POST", "/config/experiment/title/start").status == 200)
            for (user, isIn) in [("ada", true), ("ben", false), ("eve", false)] {
                #expect((try await Self.evaluate(app, user)["experiments.title"] != nil) == isIn, "\(user)")
            }
        }
    }

    @Test func `A definition can be rolled out to a role first`() async throws {
        try await Self.run { app, _ in
            try await app.publish(.flags, "default", Self.flags)
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            let staged = try DefinitionFixture.kickIn(DefinitionFixture.kickInChange)
                .merging(DefinitionFixture.json(#"{"rollout":{"flag":"editor","otherwise":1}}"#)).text
            try #require(try await app.publish(.definition, "kick-in", staged).status == 200)
            for (user, content) in [("ada", "2"), ("ben", "1"), ("eve", "1"), (nil, "1")] {
                let answer = try await app.client("GET", "/definitions/kick-in/manifest", user: user)
                #expect(
                    answer["manifest.content"] == content && answer.header("vary") == "Authorization, Accept-Encoding",
                    "\(user ?? "-"): \(answer)")
            }
        }
    }
}
