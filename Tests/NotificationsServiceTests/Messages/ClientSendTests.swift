import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

struct ClientSendTests {
    private static let rules = """
        {"templates":{"invitation":{"maximumRecipients":2,"when":{"!":{"in":[{"var":"sender"},{"var":"recipients"}]}},"limit":{"count":2,"seconds":3600}}}}
        """

    private func send(
        _ app: NotificationsApp, _ template: String = "invitation", to users: [String] = ["u2"],
        by sender: String = "u1",
        _ variables: String = #"{"team":"Blue"}"#, key: String? = nil
    ) async throws -> Message {
        let send = ClientSend(
            template: template, variables: try JSONValue(parsing: variables.utf8), users: users, sender: sender,
            idempotencyKey: key)
        return try await app.service.messages.clients.send(send, in: try await app.space).message
    }

    private func prepare(_ app: NotificationsApp, _ rules: String? = rules) async throws {
        try await app.install([
            TestInstallation(1, user: "u1"), TestInstallation(2, user: "u2"), TestInstallation(3, user: "u3"),
        ])
        _ = try await app.master("PUT", "/notifications/templates/invitation", #"{"content":{"body":"Join {{team}}"}}"#)
        guard let rules else { return }
        let answer = try await app.master("PUT", "/notifications/client-rules", rules)
        #expect(answer.status == 200, "\(answer)")
    }

    @Test func `a user may send what the app's rules allow, to the audiences they allow`() async throws {
        try await NotificationsApp.runWithStorage { app, _ in
            try await prepare(app)
            let message = try await send(app, to: ["u2", "u3"])
            #expect(message.author == "user:u1" && message.content.texts.body == "Join Blue")
            #expect(try await app.deliveries(message.id).map(\.number) == [2, 3])
        }
    }

    @Test(arguments: [
        ("invitation", ["u2", "u3", "u4"], ErrorCode.forbidden), ("invitation", ["u1"], .forbidden),
        ("invitation", [], .invalidBody),
        ("other", ["u2"], .forbidden),
    ])
    func `messages that the rules do not allow are refused, and nothing is sent`(
        _ template: String, _ users: [String], _ code: ErrorCode
    ) async throws {
        try await NotificationsApp.run { app in
            try await prepare(app)
            await #expect { try await send(app, template, to: users) } throws: { ($0 as? ServiceError)?.code == code }
            #expect(try await app.count("messages") == 0)
        }
    }

    @Test func `without rules no user may send anything`() async throws {
        try await NotificationsApp.run { app in
            try await prepare(app, nil)
            #expect(try await app.master("GET", "/notifications/client-rules").text == #"{"templates":{}}"#)
            await #expect { try await send(app) } throws: { ($0 as? ServiceError)?.code == .forbidden }
        }
    }

    @Test func `a user's messages are limited, even if sent concurrently, and repetitions do not count`()
        async throws
    {
        try await NotificationsApp.runWithStorage { app, _ in
            try await prepare(app)
            let results = await withTaskGroup(of: ErrorCode?.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        do {
                            _ = try await send(app)
                            return nil
                        } catch {
                            return (error as? ServiceError)?.code
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.count { $0 == nil } == 2 && results.count { $0 == .tooManyRequests } == 4)
            #expect(try await app.count("messages") == 2)
            let first = try await send(app, by: "u3", key: "k")
            for _ in 0..<3 { #expect(try await send(app, by: "u3", key: "k").id == first.id) }
            #expect(try await app.count("messages") == 3)
        }
    }

    // MARK: POST /notifications/messages

    private func post(
        _ app: NotificationsApp, _ audience: String = #"{"users":["u2"]}"#, by sender: String? = "u1",
        _ variables: String = #"{"team":"Blue"}"#,
        template: String = "invitation", key: String? = nil
    ) async throws -> Answer {
        try await app.client(
            "POST", "/notifications/messages",
            #"{"template":"\#(template)","variables":\#(variables),"audience":\#(audience)}"#, user: sender,
            headers: key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    @Test func `A signed-in user invites another, and the answer does not reveal the recipients`() async throws {
        try await NotificationsApp.runWithStorage { app, _ in
            try await prepare(app)
            let answer = try await post(app)
            let id = try #require(answer["id"].flatMap { UUID(uuidString: $0.filter { $0 != "\"" }) }, "\(answer)")
            #expect(
                answer.status == 201 && answer["template"] == "\"invitation\"" && answer["planned"] == nil
                    && answer["audience"] == nil, "\(answer)")
            #expect(try await app.deliveries(id).map(\.number) == [2])
            let message = try await app.message(id)
            #expect(message.author == "user:u1" && message.content.texts.body == "Join Blue")
            // Whether a recipient exists is not revealed either.
            #expect(try await post(app, #"{"users":["nobody"]}"#).status == 201)
        }
    }

    @Test(arguments: [
        (#"{"users":["u2"]}"#, "{}", ErrorCode.invalidBody, "variables.team"),
        (#"{"users":["u2"]}"#, #"{"team":"B","body":"free"}"#, .invalidBody, "variables.body"),
        (#"{"users":["u2"]}"#, #"{"team":"B","sender":"u3"}"#, .invalidBody, "variables.sender"),
        (#"{"users":["u2"]}"#, #"{"team":["B"]}"#, .invalidBody, "variables.team"),
        (#"{"everyone":true}"#, #"{"team":"B"}"#, .invalidBody, "audience.everyone"),
        (#"{"where":{}}"#, #"{"team":"B"}"#, .invalidBody, "audience.where"),
        ("{}", #"{"team":"B"}"#, .invalidBody, "audience.users"),
        (#"{"users":["u2"],"channels":["event-1"]}"#, #"{"team":"B"}"#, .invalidBody, "audience.users"),
    ])
    func `Only placeholders of the template and audiences of a rule are accepted, and nothing is sent otherwise`(
        _ audience: String, _ variables: String, _ code: ErrorCode, _ field: String
    ) async throws {
        try await NotificationsApp.run { app in
            try await prepare(app)
            let answer = try await post(app, audience, variables)
            #expect(answer.isProblem(code, field: field), "\(answer)")
            #expect(try await app.count("messages") == 0)
            #expect(try await app.count("client_receipts") == 0)
        }
    }

    @Test func `Callers without permission, and members beyond the template, are refused, and nothing is sent`()
        async throws
    {
        try await NotificationsApp.run { app in
            try await prepare(app)
            #expect(try await post(app, by: nil).isProblem(.forbidden))
            #expect(try await post(app, template: "other").isProblem(.forbidden))
            #expect(try await post(app, #"{"users":["u1"]}"#).isProblem(.forbidden), "the rule's condition")
            #expect(
                try await post(app, #"{"channels":["event-1"]}"#).isProblem(.forbidden), "the rule names no channels")
            #expect(try await post(app, #"{"users":["u2","u3","u4"]}"#).isProblem(.forbidden))
            for (member, field) in [
                (#""content":{"body":"free"}"#, "content"), (#""due":"2026-12-24T18:00:00Z""#, "due"),
                (#""timing":{}"#, "timing"),
            ] {
                let body = #"{"template":"invitation","variables":{"team":"B"},"audience":{"users":["u2"]},\#(member)}"#
                #expect(
                    try await app.client("POST", "/notifications/messages", body, user: "u1").isProblem(
                        .invalidBody, field: field))
            }
            #expect(try await app.client("GET", "/notifications/messages", user: "u1").isProblem(.forbidden))
            #expect(try await app.client("POST", "/notifications/preview", "{}", user: "u1").isProblem(.forbidden))
            #expect(try await app.count("messages") == 0)
            #expect(try await app.count("client_receipts") == 0)
        }
    }

    @Test
    func `A user sends to the channels of a rule without getting the message, and {{sender}} is the signed-in user`()
        async throws
    {
        let rules = #"{"templates":{"invitation":{"channels":["event-*","all"],"limit":{"count":9,"seconds":60}}}}"#
        try await NotificationsApp.runWithStorage { app, _ in
            try await prepare(app, rules)
            try await app.install([
                TestInstallation(11, user: "u1", channels: ["event-1"]),
                TestInstallation(12, user: "u2", channels: ["event-1"]), TestInstallation(13, channels: ["event-2"]),
            ])
            _ = try await app.master(
                "PUT", "/notifications/templates/invitation",
                #"{"content":{"body":"Join {{team}}","data":{"invitedBy":"{{sender}}"}}}"#)
            let answer = try await post(app, #"{"channels":["event-1"]}"#)
            let id = try #require(answer["id"].flatMap { UUID(uuidString: $0.filter { $0 != "\"" }) }, "\(answer)")
            try await app.planned(id)
            #expect(try await app.deliveries(id).map(\.number) == [12])
            let content = try await app.message(id).content.json
            #expect(content["data"]?["invitedBy"] == .string("u1"), "\(content.text)")
            for channel in ["news", "event", "al", "allx", "event-a b"] {
                #expect(try await post(app, #"{"channels":["\#(channel)"]}"#).isProblem(.forbidden), "\(channel)")
            }
            #expect(
                try await post(app, #"{"channels":["event-1","event-2"]}"#).isProblem(.forbidden),
                "more than one at a time")
            #expect(try await app.count("messages") == 1)
        }
    }

    @Test
    func `A recipient gets no more than the rule's limit from all senders, and refusals do not count`()
        async throws
    {
        let rules =
            #"{"templates":{"invitation":{"maximumRecipients":2,"limit":{"count":50,"seconds":3600},"recipientLimit":{"count":3,"seconds":3600}}}}"#
        try await NotificationsApp.runWithStorage { app, _ in
            try await prepare(app, rules)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for sender in 0..<8 { group.addTask { try await post(app, by: "s\(sender)").status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201, 201, 201, 429, 429, 429, 429, 429])
            let both = try await post(app, #"{"users":["u2","u3"]}"#)
            #expect(both.isProblem(.tooManyRequests) && both.header("retry-after") == "3600", "\(both)")
            #expect(
                try await app.postgres.query("SELECT FROM notifications.client_receipts WHERE recipient = 'user:u3'")
                    .isEmpty)
            #expect(try await post(app, #"{"users":["u3"]}"#).status == 201)
            // The period is over.
            try await app.postgres.execute(
                "UPDATE notifications.client_receipts SET since = since - interval '2 hours'")
            #expect(try await post(app).status == 201)
            #expect(try await app.count("messages") == 5)
        }
    }

    @Test func `users who have blocked the sender get nothing, and the answer does not show it`()
        async throws
    {
        let rules =
            #"{"templates":{"invitation":{"maximumRecipients":2,"channels":["all"],"limit":{"count":9,"seconds":60}}}}"#
        try await NotificationsApp.runWithStorage { app, storage in
            try await prepare(app, rules)
            try await app.install([
                TestInstallation(12, user: "u2", channels: ["all"]),
                TestInstallation(13, user: "u3", channels: ["all"]),
            ])
            func reached(_ audience: String) async throws -> [Int] {
                let answer = try await post(app, audience)
                #expect(answer.status == 201 && answer["audience"] == nil && answer["planned"] == nil, "\(answer)")
                let id = try #require(answer["id"].flatMap { UUID(uuidString: $0.filter { $0 != "\"" }) })
                try await app.planned(id)
                return try await app.deliveries(id).map(\.number)
            }
            let audiences = [#"{"users":["u2","u3"]}"#, #"{"users":["u2"]}"#, #"{"channels":["all"]}"#]
            #expect(try await storage.write("PUT", "/auth/me/blocks/u1", by: "u2").status == 204)
            for (audience, numbers) in zip(audiences, [[3, 13], [], [13]]) {
                #expect(try await reached(audience) == numbers, "\(audience)")
            }
            #expect(try await storage.write("DELETE", "/auth/me/blocks/u1", by: "u2").status == 204)
            for (audience, numbers) in zip(audiences, [[2, 3, 12, 13], [2, 12], [12, 13]]) {
                #expect(try await reached(audience) == numbers, "\(audience)")
            }
        }
    }

    @Test func `without storage nothing is sent, because the blockers are unknown`() async throws {
        var options = NotificationsOptions(internalSecret: NotificationsApp.internalSecret)
        options.rules = RuleSettings(storage: ServiceAddress(name: "storage", url: URL(string: "http://127.0.0.1:1")!))
        try await NotificationsApp.run(options) { app in
            try await prepare(app)
            #expect(try await post(app).isProblem(.unavailable))
            #expect(try await app.count("messages") == 0)
            #expect(try await app.count("client_receipts") == 0)
        }
    }

    @Test func `An Idempotency-Key sends once, is refused with another message, and belongs to one user`()
        async throws
    {
        try await NotificationsApp.runWithStorage { app, _ in
            try await prepare(app)
            let first = try await post(app, key: "k1")
            #expect(first.status == 201)
            for _ in 0..<3 {
                let again = try await post(app, key: "k1")
                #expect(again.status == 200 && again["id"] == first["id"], "\(again)")
            }
            #expect(try await post(app, #"{"users":["u3"]}"#, key: "k1").isProblem(.idempotencyKeyReused))
            #expect(try await post(app, by: "u3", key: "k1").status == 201)
            #expect(try await app.count("messages") == 2)
        }
    }

    @Test func `The record of received messages is erased with the account`() async throws {
        let user = "0193a000-0000-7000-8000-0000000000aa"
        try await NotificationsApp.runWithStorage { app, _ in
            try await prepare(app)
            #expect(try await post(app, #"{"users":["\#(user)"]}"#).status == 201)
            #expect(try await app.count("client_receipts") == 1)
            var after: String?
            repeat {
                after = try await app.service.messages.userData.erase(
                    UserDataRequest(app: app.appID, environment: .live, user: user, after: after)
                ).next
            } while after != nil
            #expect(try await app.count("client_receipts") == 0)
        }
    }

    @Test(arguments: [
        (#"{}"#, "templates"), (#"{"templates":{"t":{}}}"#, "limit"),
        (#"{"templates":{"t":{"limit":{"count":1}}}}"#, "limit"),
        (#"{"templates":{"t":{"maximumRecipients":1000,"limit":{"count":1,"seconds":1}}}}"#, "maximumRecipients"),
        (#"{"templates":{"t":{"when":{"launch":[]},"limit":{"count":1,"seconds":1}}}}"#, "when"),
        (#"{"templates":{},"all":true}"#, "all"),
        (#"{"templates":{"t":{"channels":["a b"],"limit":{"count":1,"seconds":1}}}}"#, "channels"),
        (#"{"templates":{"t":{"channels":["*"],"limit":{"count":1,"seconds":1}}}}"#, "channels"),
        (#"{"templates":{"t":{"limit":{"count":1,"seconds":1},"recipientLimit":{"count":1}}}}"#, "recipientLimit"),
    ])
    func `invalid client rules are refused`(_ rules: String, _ field: String) async throws {
        try await NotificationsApp.run { app in
            let answer = try await app.master("PUT", "/notifications/client-rules", rules)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await app.count("client_rules") == 0)
        }
    }
}
