import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Testing

@testable import NotificationsService

struct ClientSendTests {
    private static let rules = """
        {"templates":{"invitation":{"maximumRecipients":2,"when":{"!":{"in":[{"var":"sender"},{"var":"recipients"}]}},"limit":{"count":2,"seconds":3600}}}}
        """

    private func send(
        _ app: NotificationsApp, _ template: String = "invitation", to users: [String] = ["u2"], by sender: String = "u1",
        _ variables: String = #"{"team":"Blue"}"#, key: String? = nil
    ) async throws -> Message {
        let send = ClientSend(
            template: template, variables: try JSONValue(parsing: variables.utf8), users: users, sender: sender, idempotencyKey: key)
        return try await app.service.messages.clients.send(send, in: try await app.space)
    }

    private func prepare(_ app: NotificationsApp, _ rules: String? = rules) async throws {
        try await app.install([TestInstallation(1, user: "u1"), TestInstallation(2, user: "u2"), TestInstallation(3, user: "u3")])
        _ = try await app.master("PUT", "/notifications/templates/invitation", #"{"content":{"body":"Join {{team}}"}}"#)
        guard let rules else { return }
        let answer = try await app.master("PUT", "/notifications/client-rules", rules)
        #expect(answer.status == 200, "\(answer)")
    }

    @Test func `a user may send what the app's rules allow, to those whom they allow`() async throws {
        try await NotificationsApp.run { app in
            try await prepare(app)
            let message = try await send(app, to: ["u2", "u3"])
            #expect(message.author == "user:u1" && message.content.texts.body == "Join Blue")
            #expect(try await app.deliveries(message.id).map(\.number) == [2, 3])
        }
    }

    @Test(arguments: [
        ("invitation", ["u2", "u3", "u4"], ErrorCode.forbidden), ("invitation", ["u1"], .forbidden), ("invitation", [], .invalidBody),
        ("other", ["u2"], .forbidden),
    ])
    func `what the rules do not allow is refused, and nothing is sent`(_ template: String, _ users: [String], _ code: ErrorCode) async throws {
        try await NotificationsApp.run { app in
            try await prepare(app)
            await #expect { try await send(app, template, to: users) } throws: { ($0 as? HTTPProblem)?.code == code }
            #expect(try await app.count("messages") == 0)
        }
    }

    @Test func `without rules nobody may send anything`() async throws {
        try await NotificationsApp.run { app in
            try await prepare(app, nil)
            #expect(try await app.master("GET", "/notifications/client-rules").text == #"{"templates":{}}"#)
            await #expect { try await send(app) } throws: { ($0 as? HTTPProblem)?.code == .forbidden }
        }
    }

    @Test func `a user sends no more than the limit, however many at once, and a repetition counts for nothing`() async throws {
        try await NotificationsApp.run { app in
            try await prepare(app)
            let results = await withTaskGroup(of: ErrorCode?.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        do {
                            _ = try await send(app)
                            return nil
                        } catch {
                            return (error as? HTTPProblem)?.code
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

    @Test(arguments: [
        (#"{}"#, "templates"), (#"{"templates":{"t":{}}}"#, "limit"), (#"{"templates":{"t":{"limit":{"count":1}}}}"#, "limit"),
        (#"{"templates":{"t":{"maximumRecipients":1000,"limit":{"count":1,"seconds":1}}}}"#, "maximumRecipients"),
        (#"{"templates":{"t":{"when":{"launch":[]},"limit":{"count":1,"seconds":1}}}}"#, "when"), (#"{"templates":{},"all":true}"#, "all"),
    ])
    func `rules that say nothing are refused`(_ rules: String, _ field: String) async throws {
        try await NotificationsApp.run { app in
            let answer = try await app.master("PUT", "/notifications/client-rules", rules)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await app.count("client_rules") == 0)
        }
    }
}
