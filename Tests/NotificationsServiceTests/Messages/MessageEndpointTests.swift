import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Testing

@testable import NotificationsService

struct MessageEndpointTests {
    @Test func `a message is created, read and listed`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u1")])
            let first = try await app.master(
                "POST", "/notifications/messages",
                #"{"content":{"title":"T","body":"b","data":{"n":1.0}},"audience":{"users":["u1"]},\#(NotificationsApp.quiet)}"#
            )
            #expect(first.status == 201)
            #expect(
                first["state"] == #""sending""# && first["planned"] == "1" && first["content.data.n"] == "1.0"
                    && first["author"] == #""key:c1""#)
            let id = try #require(first["id"]).dropFirst().dropLast()
            let second = try await app.order(#"{"content":{"body":"b"},"audience":{"users":["nobody"]}}"#)
            let list = try await app.master("GET", "/notifications/messages?limit=1")
            #expect(list["data.0.id"] == "\"\(second.uuidString.lowercased())\"" && list["data.0.state"] == #""sent""#)
            let next = try #require(list["next"]).dropFirst().dropLast()
            #expect(
                try await app.master("GET", "/notifications/messages?limit=1&before=\(next)")["data.0.id"]
                    == "\"\(id)\"")
            #expect(try await app.master("GET", "/notifications/messages?state=sent")["count"] == "1")
            let read = try await app.master("GET", "/notifications/messages/\(id)")
            #expect(read["counts.waiting"] == "1" && read["counts.opened"] == "0")
        }
    }

    @Test(arguments: [
        (#"{"content":{"body":"b"}}"#, ErrorCode.invalidBody, "audience"),
        (#"{"audience":{"everyone":true}}"#, .invalidBody, "content"),
        (#"{"content":{"body":"b"},"template":"t","audience":{"everyone":true}}"#, .invalidBody, "content"),
        (#"{"template":"gone","audience":{"everyone":true}}"#, .templateNotFound, "template"),
        (#"{"content":{"body":"b"},"audience":{"everyone":true},"due":"tomorrow"}"#, .invalidBody, "due"),
        (#"{"content":{"body":"b"},"audience":{"everyone":true},"due":"2099-01-01T00:00:00Z"}"#, .invalidBody, "due"),
        (
            #"{"content":{"body":"b"},"audience":{"everyone":true},"expires":"2020-01-01T00:00:00Z"}"#, .invalidBody,
            "expires"
        ),
        (
            #"{"content":{"body":"{{name}}"},"variables":{},"audience":{"everyone":true}}"#, .invalidBody,
            "variables.name"
        ),
        (#"{"content":{"body":"b"},"audience":{"everyone":true},"when":1}"#, .invalidBody, "when"),
    ])
    func `an invalid message is refused, and nothing is written`(_ body: String, _ code: ErrorCode, _ field: String)
        async throws
    {
        try await NotificationsApp.run { app in
            let answer = try await app.master("POST", "/notifications/messages", body)
            #expect(answer.isProblem(code, field: field), "\(answer)")
            #expect(try await app.count("messages") == 0)
            #expect(try await app.count("jobs") == 0)
        }
    }

    @Test func `a message that no push service would accept is refused before anything is queued`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u1")])
            // More than fits into a browser's push, and less than Apple's limit.
            let text = String(repeating: "x", count: 4_000)
            let everywhere = #"{"content":{"body":"\#(text)"},"audience":{"users":["u1"]}}"#
            let apple = #"{"content":{"body":"\#(text)"},"audience":{"users":["u1"],"platforms":["ios"]}}"#
            #expect(
                try await app.master("POST", "/notifications/messages", everywhere).isProblem(
                    .invalidBody, field: "content"))
            #expect(try await app.count("messages") == 0)
            let preview = try await app.master("POST", "/notifications/preview", everywhere)
            #expect(preview["texts.0.problem"] != nil && preview["audience.count"] == "1")
            #expect(try await app.master("POST", "/notifications/preview", apple)["texts.0.problem"] == nil)
            #expect(try await app.master("POST", "/notifications/messages", apple).status == 201)
        }
    }

    @Test func `the same Idempotency-Key returns the same message, and is refused with another one`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u1")])
            let body = #"{"content":{"body":"b"},"audience":{"users":["u1"]}}"#
            let key = ["Idempotency-Key": "order-1"]
            let answers = try await withThrowingTaskGroup(of: (Int, String?).self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let answer = try await app.master("POST", "/notifications/messages", body, headers: key)
                        return (answer.status, answer["id"])
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map(\.0).sorted() == [200, 200, 200, 201] && Set(answers.map(\.1)).count == 1)
            #expect(try await app.count("deliveries") == 1)
            let other = try await app.master(
                "POST", "/notifications/messages", body.replacing("\"b\"", with: "\"c\""), headers: key)
            #expect(other.isProblem(.idempotencyKeyReused))
            #expect(
                try await app.master("POST", "/notifications/messages", body, headers: ["Idempotency-Key": "a b"])
                    .isProblem(.invalidParameter))
            #expect(try await app.count("messages") == 1)
        }
    }

    @Test
    func `a repeated request gets the first answer, even after its template, segment or time has changed`()
        async throws
    {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u1")])
            func put(_ path: String, _ body: String) async throws {
                #expect(try await app.master("PUT", "/notifications/" + path, body).status < 300)
            }
            try await put("templates/hello", #"{"content":{"body":"Hello {{name}}"}}"#)
            try await put("segments/one", #"{"audience":{"users":["u1"]}}"#)
            let times =
                #""due":"\#(Date().addingTimeInterval(1).rfc3339)","expires":"\#(Date().addingTimeInterval(3_600).rfc3339)""#
            let body = #"{"template":"hello","variables":{"name":"Ada"},"audience":{"segment":"one"},\#(times)}"#
            func post(_ body: String) async throws -> Answer {
                try await app.master("POST", "/notifications/messages", body, headers: ["Idempotency-Key": "order-1"])
            }
            let first = try await post(body)
            #expect(first.status == 201, "\(first)")
            for change in [#"{"content":{"body":"Bye {{nobody}}"}}"#, nil] {
                if let change {
                    try await put("templates/hello", change)
                } else {
                    for path in ["templates/hello", "segments/one"] {
                        #expect(try await app.master("DELETE", "/notifications/" + path).status < 300)
                    }
                }
                let again = try await post(body)
                #expect(
                    again.status == 200 && again["id"] == first["id"] && again["content.body"] == #""Hello Ada""#,
                    "\(again)")
                #expect(try await post(body.replacing("Ada", with: "Bob")).isProblem(.idempotencyKeyReused))
            }
            // With another key it is a new request, for which there is no template.
            let other = try await app.master(
                "POST", "/notifications/messages", body, headers: ["Idempotency-Key": "order-2"])
            #expect(other.isProblem(.templateNotFound), "\(other)")
            #expect(try await app.count("messages") == 1)
        }
    }

    @Test func `a template is stored, filled in and removed`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, user: "u1", locale: "de")])
            let template = #"""
                {"content":{"title":"{{bike}} was seen{{#place}} in {{place}}{{/place}}","localized":{"de":{"title":"{{bike}} wurde gesehen"}},"data":{"bike":"{{bike}}"}}}
                """#
            let stored = try await app.master("PUT", "/notifications/templates/sighting", template)
            #expect(
                stored.status == 200 && stored["variables"] == #"["bike"]"# && stored["version"] == "1", "\(stored)")
            #expect(try await app.master("GET", "/notifications/templates")["data.0.name"] == #""sighting""#)
            let order = #"{"template":"sighting","variables":{"bike":"Blue \"42\""},"audience":{"users":["u1"]}}"#
            let message = try await app.message(try await app.order(order))
            #expect(message.template == "sighting" && message.content.texts.title == #"Blue "42" was seen"#)
            #expect(
                message.content.localized[LanguageTag("de")!]?.title == #"Blue "42" wurde gesehen"#
                    && message.content.data[0].value == .string(#"Blue "42""#))
            let preview = try await app.master(
                "POST", "/notifications/preview", #"{"template":"sighting","variables":{"bike":"B","place":"Ulm"}}"#)
            #expect(
                preview["texts.0.title"] == #""B was seen in Ulm""# && preview["texts.1.language"] == #""de""#,
                "\(preview)")
            #expect(
                try await app.master("PUT", "/notifications/templates/sighting", #"{"content":{"body":"{{a"}}"#)
                    .isProblem(.invalidBody, field: "content"))
            #expect(try await app.master("PUT", "/notifications/templates/a%20b", template).isProblem(.invalidName))
            #expect(try await app.master("GET", "/notifications/templates/sighting")["version"] == "1")
            #expect(try await app.master("DELETE", "/notifications/templates/sighting").status == 204)
            #expect(try await app.master("DELETE", "/notifications/templates/sighting").isProblem(.templateNotFound))
            #expect(try await app.master("GET", "/notifications/templates/sighting").isProblem(.templateNotFound))
        }
    }

    @Test func `segments are stored, counted and removed`() async throws {
        try await NotificationsApp.run { app in
            try await app.install([TestInstallation(1, appVersion: "1"), TestInstallation(2, appVersion: "2")])
            let path = "/notifications/segments/old"
            #expect(
                try await app.master("PUT", path, #"{"audience":{"where":{"appVersion":{"$vlt":"2"}}}}"#)["version"]
                    == "1")
            #expect(try await app.master("GET", path + "/preview").text == #"{"count":1,"isExact":true}"#)
            #expect(try await app.master("GET", path + "/preview?exact=true")["count"] == "1")
            #expect(
                try await app.master("PUT", path, #"{"audience":{"segment":"old"}}"#).isProblem(
                    .invalidBody, field: "audience.segment"))
            #expect(
                try await app.master("PUT", path, #"{"audience":{"where":{"a":{"$x":1}}}}"#).isProblem(.invalidFilter))
            #expect(try await app.master("GET", path)["audience.where.appVersion.$vlt"] == #""2""#)
            #expect(try await app.master("GET", "/notifications/segments")["count"] == "1")
            #expect(try await app.master("DELETE", path).status == 204)
            #expect(try await app.master("GET", path).isProblem(.segmentNotFound))
            #expect(try await app.master("GET", path + "/preview").isProblem(.segmentNotFound))
            #expect(try await app.master("DELETE", path).isProblem(.segmentNotFound))
        }
    }

    @Test(arguments: [
        ("POST", "messages", StaffAction.create), ("GET", "messages", .read), ("POST", "preview", .read),
        ("PUT", "templates/t", .update),
        ("PUT", "segments/s", .update), ("PUT", "client-rules", .update), ("GET", "client-rules", .read),
        ("DELETE", "segments/s", .delete),
    ])
    func `only the app's server and staff with the right are admitted`(
        _ method: String, _ path: String, _ action: StaffAction
    )
        async throws
    {
        let bodies = [
            "templates/t": #"{"content":{"body":"b"}}"#, "segments/s": #"{"audience":{"everyone":true}}"#,
            "client-rules": #"{"templates":{}}"#,
        ]
        let body =
            method == "GET" || method == "DELETE"
            ? nil : bodies[path] ?? #"{"content":{"body":"b"},"audience":{"everyone":true}}"#
        let path = "/notifications/" + path
        try await NotificationsApp.run { app in
            _ = try await app.master("PUT", "/notifications/segments/s", bodies["segments/s"])
            let others = Set(StaffAction.allCases).subtracting([action])
            let without = StaffRights(["app1": [.notifications: others], "app2": [.notifications: [action]]])
            let with = StaffRights(["app1": [.notifications: [action]]])
            // Users send by templates, with a call of a different form.
            let refusal = try await app.client(method, path, body, user: "u1")
            #expect(
                refusal.isProblem(path.hasSuffix("/messages") && method == "POST" ? .invalidBody : .forbidden),
                "\(refusal)")
            #expect(try await app.staff(method, path, body, rights: without).isProblem(.forbidden))
            #expect(try await app.staff(method, path, body, rights: with).status < 300)
        }
    }
}
