import MartletAPI
import MartletHTTP
import MartletMail
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

/// Refused requests for mail. Nothing is written.
struct OrderMailTests {
    private static let words = #""subject":"Hi","text":"Hello""#

    private static let refusals = [
        (#"{"to":["ada@example.org"]}"#, "subject"), (#"{"to":["ada@example.org"],"subject":"Hi"}"#, "text"),
        (#"{\#(words)}"#, "to"), (#"{"to":[],\#(words)}"#, "to"), (#"{"to":["nobody"],\#(words)}"#, "to"),
        (#"{"to":["ada@example.org","ADA@example.org"],\#(words)}"#, "to"), (#"{"users":["7"],\#(words)}"#, "users"),
        (#"{"to":["ada@example.org\r\nBcc: eve@example.org"],\#(words)}"#, "to"),
        (#"{"to":["ada@example.org, eve@example.org"],\#(words)}"#, "to"),
        (#"{"to":["ada@example.org"],\#(words),"template":"welcome"}"#, "subject"),
        (#"{"to":["ada@example.org"],\#(words),"topic":"News!"}"#, "topic"),
        (#"{"to":["ada@example.org"],\#(words),"replyTo":"help@example.org\nBcc: eve@example.org"}"#, "replyTo"),
        (#"{"to":["ada@example.org"],\#(words),"language":"../de"}"#, "language"),
        (#"{"to":["ada@example.org"],\#(words),"bcc":"eve@example.org"}"#, "bcc"),
        (#"{"to":["ada@example.org"],\#(words),"variables":{"email":"x"}}"#, "variables.email"),
        (#"{"to":["ada@example.org"],\#(words),"variables":{"a b":"x"}}"#, "variables.a b"),
        (#"{"to":["ada@example.org"],\#(words),"variables":{"a":{}}}"#, "variables.a"),
        (#"{"to":["ada@example.org"],\#(words),"variables":7}"#, "variables"),
        (#"{"to":["ada@example.org"],"subject":"{{name}}","text":"Hello"}"#, "variables.name"),
        (#"{"to":["ada@example.org"],"subject":"{{unsubscribe}}","text":"no topic"}"#, "variables.unsubscribe"),
        (#"{"to":["ada@example.org"],"subject":"Hi","text":"{{#a}}{{b}}"}"#, "text"),
        (#"{"to":["ada@example.org"],"subject":"","text":"Hello"}"#, "subject"),
        (#"{"to":["ada@example.org"],"subject":"Hi","text":"Hello","html":"{{ x }}"}"#, "html"),
    ]

    @Test func `Invalid orders are refused by field`() async throws {
        try await MailApp.run(Self.options) { app in
            for (body, field) in Self.refusals {
                let answer = try await app.master("POST", "/notifications/mail", body)
                #expect(answer.isProblem(.invalidBody, field: field), "\(body): \(answer)")
            }
            #expect(try await app.count("mails") == 0)
            #expect(try await app.count("jobs") == 0)
        }
    }

    @Test func `Too many recipients, a missing template and the wrong kind of keys are refused`() async throws {
        try await MailApp.run(Self.options) { app in
            let many = (0...50).map { #""u\#($0)@example.org""# }.joined(separator: ",")
            #expect(
                try await app.master("POST", "/notifications/mail", #"{"to":[\#(many)],\#(Self.words)}"#).isProblem(
                    .invalidBody, field: "to"))
            let unknown = #"{"to":["ada@example.org"],"template":"welcome"}"#
            #expect(try await app.master("POST", "/notifications/mail", unknown).isProblem(.templateNotFound))
            let body = #"{"to":["ada@example.org"],\#(Self.words)}"#
            #expect(try await app.client("POST", "/notifications/mail", body, user: MailApp.ada).isProblem(.forbidden))
            #expect(try await app.staff("POST", "/notifications/mail", body, rights: .none).isProblem(.forbidden))
            let key = try await app.master("POST", "/notifications/mail", body, headers: ["Idempotency-Key": "a b"])
            #expect(key.isProblem(.invalidParameter, field: "Idempotency-Key"))
            #expect(try await app.count("mails") == 0)
            var options = Self.options
            options.mail.server = .init()
            try await MailApp.run(options) { app in
                let answer = try await app.master("POST", "/notifications/mail", body)
                #expect(answer.isProblem(.notImplemented))
                #expect(try await app.count("mails") == 0)
            }
        }
    }

    @Test func `The app's hourly limit covers all its orders, and an order that exceeds it is refused as a whole`()
        async throws
    {
        var options = Self.options
        options.mail.mailsPerHour = 3
        options.mail.mailsPerDay = 4
        try await MailApp.run(options) { app in
            func order(_ count: Int) async throws -> Answer {
                let to = (0..<count).map { #""u\#($0)@example.org""# }.joined(separator: ",")
                return try await app.master("POST", "/notifications/mail", #"{"to":[\#(to)],\#(Self.words)}"#)
            }
            let first = try await order(2)
            #expect(first.status == 202)
            #expect(try await order(2).isProblem(.tooManyRequests))
            #expect(try await order(1).status == 202)
            #expect(try await order(1).isProblem(.tooManyRequests))
            #expect(try await app.count("mails") == 3)
            // The daily limit has been used up, although not in this hour.
            try await app.postgres.execute("UPDATE notifications.mails SET created = created - interval '2 hours'")
            #expect(try await order(1).status == 202)
            #expect(try await order(1).isProblem(.tooManyRequests))
            #expect(try await app.count("mails") == 4)
            // Test is a separate space.
            var test = app
            test.environment = .test
            #expect(
                try await test.master("POST", "/notifications/mail", #"{"to":["a@example.org"],\#(Self.words)}"#).status
                    == 202)
        }
    }

    @Test func `Concurrent orders respect the limit, and the same key orders once`() async throws {
        var options = Self.options
        options.mail.mailsPerHour = 5
        try await MailApp.run(options) { app in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<12 {
                    let body = #"{"to":["u\#(number)@example.org"],\#(Self.words)}"#
                    group.addTask { try await app.master("POST", "/notifications/mail", body).status }
                }
                return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [202: 5, 429: 7])
        }
        try await MailApp.run(Self.options) { app in
            let body = #"{"to":["a@example.org","b@example.org"],\#(Self.words)}"#
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        try await app.master("POST", "/notifications/mail", body, headers: ["Idempotency-Key": "k1"])
                            .text
                    }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(answers.count == 1, "\(answers)")
            #expect(try await app.count("mails") == 2)
            let other = #"{"to":["c@example.org"],\#(Self.words)}"#
            let reused = try await app.master("POST", "/notifications/mail", other, headers: ["Idempotency-Key": "k1"])
            #expect(reused.isProblem(.idempotencyKeyReused))
            #expect(try await app.count("mails") == 2)
        }
    }

    @Test func `A repeated key returns the same mails, even if the order would be refused now`() async throws {
        var options = Self.options
        options.mail.mailsPerHour = 1
        try await MailApp.run(options) { app in
            let template = "/notifications/mail/templates/welcome"
            #expect(try await app.master("PUT", template, #"{"subject":"Welcome","text":"Hello"}"#).status == 200)
            let body = #"{"to":["ada@example.org"],"template":"welcome"}"#
            func order(_ body: String) async throws -> Answer {
                try await app.master("POST", "/notifications/mail", body, headers: ["Idempotency-Key": "k"])
            }
            let first = try await order(body)
            #expect(first.status == 202 && first["count"] == "1")
            #expect(try await app.master("DELETE", template).status == 204)
            #expect(try await app.master("POST", "/notifications/mail", body).isProblem(.templateNotFound))
            let again = try await order(body)
            #expect(again.status == 202 && again.text == first.text)
            // The new content is only compared with the earlier one.
            #expect(try await order(#"{"to":["nobody"]}"#).isProblem(.idempotencyKeyReused))
            #expect(
                try await order(#"{"to":["eve@example.org"],"template":"welcome"}"#).isProblem(.idempotencyKeyReused))
            #expect(try await app.count("mails") == 1)
        }
    }

    @Test func `Mail ordered in a transaction that fails is not sent`() async throws {
        try await MailApp.run(Self.options) { app in
            let space = try await app.space
            let order = MailOrder(
                to: [.user(MailApp.ada)], MailContent(words: .init(subject: "Hi", text: "Hello")), author: .service,
                origin: "change:7")
            struct Fault: Error {}
            await #expect(throws: Fault.self) {
                try await app.postgres.withTransaction { transaction in
                    #expect(try await app.service.mail.orders.place(order, in: space, transaction).count == 1)
                    throw Fault()
                }
            }
            #expect(try await app.count("mails") == 0)
            #expect(try await app.count("jobs") == 0)
        }
    }

    /// A mail server at a port where nothing listens, so that nothing is sent.
    static var options: NotificationsOptions {
        var options = NotificationsOptions(internalSecret: NotificationsApp.internalSecret)
        options.mail.server.server = .init(host: "127.0.0.1", port: 9, security: .off, isPrivateAddressAllowed: true)
        options.mail.server.from = try? .init(address: "shop@example.org")
        options.mail.contacts = MailContactClient { _ in .init(app: "Shop", users: []) }
        return options
    }
}
