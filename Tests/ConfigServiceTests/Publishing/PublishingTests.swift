import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import ConfigService

@Suite struct PublishingTests {
    private static let path = "/config/flags/default"

    @Test func `a document is edited, published, rolled back, withdrawn and deleted`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            let path = Self.path
            #expect(try await app.master("GET", path).isProblem(.documentNotFound))
            let made = try await app.master(
                "PUT", path, #"{"text":"one","ratio":1.0}"#, headers: ["if-none-match": "*"])
            #expect(made.status == 201 && made["revision"] == "1" && made.header("etag") == "\"1\"", "\(made)")
            #expect(try await app.service.live.current(app.space).documents.isEmpty)

            let first = try await app.master(
                "POST", path + "/publish", #"{"note":"the first"}"#, headers: ["if-match": "\"1\""])
            #expect(
                first.status == 200 && first["version"] == "1" && first["note"] == "\"the first\""
                    && first["author"] == "\"key:c1\"", "\(first)")
            let key = DocumentKey(.flags, "default")
            let live = try #require(try await app.service.live.current(app.space)[key])
            #expect(String(buffer: live.content) == #"{"text":"one","ratio":1.0}"# && live.version == 1)
            #expect(first["sha256"] == "\"\(live.sha256)\"")

            // The same content again makes no version.
            let again = try await app.master("POST", path + "/publish")
            #expect(again["version"] == "1" && again["isNew"] == "false", "\(again)")

            let changed = try await app.master(
                "PATCH", path, #"{"text":"two","ratio":null,"more":[1]}"#, headers: ["if-match": "\"1\""])
            #expect(changed.status == 200 && changed.header("etag") == "\"2\"", "\(changed)")
            #expect(try await app.master("GET", path).text == #"{"text":"two","more":[1]}"#)
            #expect(
                try await app.master("GET", path + "/diff")["patch"]
                    == #"[{"op":"remove","path":"/ratio"},{"op":"replace","path":"/text","value":"two"},{"op":"add","path":"/more","value":[1]}]"#
            )
            #expect(try await app.master("POST", path + "/publish")["version"] == "2")

            let back = try await app.master("POST", path + "/rollback", #"{"version":1,"note":"oops"}"#)
            #expect(
                back["version"] == "3" && back["origin"] == "\"rollback\"" && back["sourceVersion"] == "1", "\(back)")
            #expect(try await app.service.live.current(app.space)[key]?.sha256 == live.sha256)
            #expect(try await app.master("GET", path).text == #"{"text":"two","more":[1]}"#, "the draft stays")

            let list = try await app.master("GET", path + "/versions?limit=2")
            #expect(
                list["data.0.version"] == "3" && list["data.1.version"] == "2" && list["next"] == "\"2\"", "\(list)")
            #expect(try await app.master("GET", path + "/versions?before=2")["data.0.version"] == "1")
            #expect(try await app.master("GET", path + "/versions/2")["content"] == #"{"text":"two","more":[1]}"#)
            #expect(try await app.master("GET", path + "/versions/4").isProblem(.versionNotFound))

            #expect(try await app.master("POST", path + "/withdraw").status == 204)
            #expect(try await app.service.live.current(app.space)[key] == nil)
            #expect(try await app.master("POST", path + "/withdraw").isProblem(.conflict))
            #expect(try await app.master("POST", path + "/publish")["version"] == "4")

            #expect(try await app.master("DELETE", path, headers: ["if-match": "\"1\""]).isProblem(.preconditionFailed))
            #expect(try await app.master("DELETE", path, headers: ["if-match": "\"2\""]).status == 204)
            #expect(try await app.service.live.current(app.space)[key] == nil)
            #expect(try await app.master("GET", path).isProblem(.documentNotFound))
            // A new document with the same name continues the version numbers.
            #expect(try await app.publish(.flags, "default", #"{"text":"again"}"#)["version"] == "5")
        }
    }

    @Test(
        arguments: [
            ("PUT", "", #"{"text":"x"}"#, [:], ErrorCode.preconditionRequired),
            ("PUT", "", #"{"text":"x"}"#, ["if-match": "\"7\""], .preconditionFailed),
            ("PUT", "", #"{"text":"x"}"#, ["if-none-match": "*"], .preconditionFailed),
            ("PATCH", "", #"{"text":"x"}"#, ["if-match": "\"2\""], .preconditionFailed),
            ("PUT", "", #"[1]"#, ["if-match": "*"], .invalidBody),
            ("PUT", "", #"{"a":{"b":1,"b":2}}"#, ["if-match": "*"], .invalidBody),
            ("PUT", "", #"{"a":"#, ["if-match": "*"], .invalidJSON),
            (
                "PUT", "", "{\"a\":\"" + String(repeating: "x", count: 2_000) + "\"}", ["if-match": "*"],
                .payloadTooLarge
            ),
            ("POST", "/publish", #"{"note":1}"#, [:], .invalidBody),
            ("POST", "/publish", #"{"loud":true}"#, [:], .invalidBody),
            ("POST", "/publish", #"{"note":"\u0000"}"#, [:], .invalidBody),
            ("POST", "/publish", #"{"note":"x",}"#, [:], .invalidJSON),
            ("POST", "/publish", #"{"note":"x","note":"y"}"#, [:], .invalidBody),
            ("POST", "/publish", #"{"at":"yesterday"}"#, [:], .invalidBody),
            ("POST", "/publish", #"{"at":"2027-02-30T00:00:00Z"}"#, [:], .invalidBody),
            ("POST", "/publish", #"{"at":"2027-02-28T25:00:00Z"}"#, [:], .invalidBody),
            ("POST", "/publish", #"{"at":"2027-02-28T00:00:00Z and so on"}"#, [:], .invalidBody),
            ("POST", "/withdraw", #"{"x":1}"#, [:], .invalidBody),
            ("POST", "/rollback", nil, [:], .invalidJSON),
            ("POST", "/publish", #"{"at":"2020-01-01T00:00:00Z"}"#, [:], .invalidBody),
            ("POST", "/publish", "", ["if-match": "\"9\""], .preconditionFailed),
            ("POST", "/rollback", #"{"version":9}"#, [:], .versionNotFound),
            ("POST", "/rollback", #"{}"#, [:], .invalidBody),
            (
                "PATCH", "", #"{"a":\#(String(repeating: "[", count: 32))1\#(String(repeating: "]", count: 32))}"#,
                ["if-match": "*"], .limitExceeded
            ),
            ("POST", "/promote", #"{"from":"live"}"#, [:], .invalidBody),
            ("POST", "/promote", #"{"from":"test"}"#, [:], .versionNotFound),
            ("GET", "/diff?from=9", nil, [:], .versionNotFound),
        ] as [(String, String, String?, [String: String], ErrorCode)])
    func `an invalid call changes nothing`(
        _ method: String, _ path: String, _ body: String?, _ headers: [String: String], _ code: ErrorCode
    ) async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            try await app.publish(.flags, "default", #"{"text":"one"}"#)
            let before = try await app.master("GET", "/config/flags")
            let answer = try await app.master(method, Self.path + path, body, headers: headers)
            #expect(answer.isProblem(code), "\(answer)")
            #expect(try await app.master("GET", "/config/flags").text == before.text)
        }
    }

    @Test func `An invalid name is refused as a page's starting point`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            let refused = try await app.master("GET", "/config/flags?after=%00")
            #expect(refused.isProblem(.invalidParameter, field: "after"), "\(refused)")
        }
    }

    @Test func `a document with errors is not published`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            for text in ["bad", "unreadable"] {
                let stored = try await app.master(
                    "PUT", Self.path, #"{"text":"\#(text)"}"#,
                    headers: [text == "bad" ? "if-none-match" : "if-match": "*"])
                #expect([200, 201].contains(stored.status))
                let refused = try await app.master("POST", Self.path + "/publish")
                #expect(
                    refused.isProblem(.documentRefused) && refused["findings.0.severity"] == "\"error\"", "\(refused)")
                #expect(try await app.master("GET", "/config/flags")["data.0.lastVersion"] == "0")
            }
            let odd = try await app.publish(.flags, "default", #"{"text":"odd"}"#)
            #expect(odd.status == 200 && odd["findings.0.code"] == "\"odd-text\"", "\(odd)")
            let checked = try await app.master("POST", Self.path + "/check")
            let draft = try await app.master("GET", Self.path)
            #expect(checked["findings.0.path"] == "\"/text\"", "\(checked)")
            #expect(checked["revision"].map { "\"\($0)\"" } == draft.header("etag"), "\(checked)")
        }
    }

    @Test func `a pinned version stays in memory`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            let missing = try await app.publishing(.definition, "shop", #"{"pin":1}"#)
            #expect(
                missing.isProblem(.documentRefused) && missing["findings.0.code"] == "\"unknown-version\"", "\(missing)"
            )
            try await app.publish(.flags, "default", #"{"text":"one"}"#)
            try await app.publish(.definition, "shop", #"{"pin":1}"#)
            try await app.publish(.flags, "default", #"{"text":"two"}"#)
            let space = try await app.service.live.current(app.space)
            let key = DocumentKey(.flags, "default")
            #expect(space[key]?.version == 2)
            #expect(space.version(1, of: key).map { String(buffer: $0.content) } == #"{"text":"one"}"#)
            #expect(space.version(3, of: key) == nil)
        }
    }

    @Test func `test is promoted to live`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            var test = app
            test.environment = .test
            try await test.publish(.flags, "default", #"{"text":"tried"}"#)
            let promoted = try await app.master("POST", Self.path + "/promote", #"{"from":"test"}"#)
            #expect(promoted["version"] == "1" && promoted["origin"] == "\"promote\"", "\(promoted)")
            #expect(try await app.master("GET", Self.path).text == #"{"text":"tried"}"#)
            // A draft with its own changes stays.
            _ = try await app.master("PUT", Self.path, #"{"text":"mine"}"#, headers: ["if-match": "*"])
            try await test.publish(.flags, "default", #"{"text":"tried again"}"#)
            #expect(try await app.master("POST", Self.path + "/promote", "{}")["version"] == "2")
            #expect(try await app.master("GET", Self.path).text == #"{"text":"mine"}"#)
            #expect(
                try await app.service.live.current(app.space)[DocumentKey(.flags, "default")].map {
                    String(buffer: $0.content)
                } == #"{"text":"tried again"}"#)
        }
    }

    @Test func `a document that is only a draft survives a promotion`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            var test = app
            test.environment = .test
            try await test.publish(.flags, "default", #"{"text":"tried"}"#)
            _ = try await app.master("PUT", Self.path, #"{"text":"mine"}"#, headers: ["if-none-match": "*"])
            #expect(try await app.master("POST", Self.path + "/promote", "{}")["version"] == "1")
            #expect(try await app.master("GET", Self.path).text == #"{"text":"mine"}"#)
            // A test key gives no access to live documents, so staff promote them.
            #expect(try await test.master("POST", Self.path + "/promote", #"{"from":"live"}"#).isProblem(.forbidden))
            let update = StaffRights(["app1": [.config: [.update]]])
            #expect(
                try await test.staff("POST", Self.path + "/promote", #"{"from":"live"}"#, rights: update).status == 200)
            // Without the right to create, nothing is created.
            _ = try await test.publish(.flags, "second", "{}")
            #expect(
                try await app.staff("POST", "/config/flags/second/promote", "{}", rights: update).isProblem(
                    .documentNotFound))
        }
    }

    @Test func `a scheduled version is published at its time`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            _ = try await app.master("PUT", Self.path, #"{"text":"later"}"#, headers: ["if-none-match": "*"])
            let time = Date(timeIntervalSinceNow: 3_600).formatted(.iso8601)
            let scheduled = try await app.master("POST", Self.path + "/publish", #"{"at":"\#(time)","note":"n"}"#)
            #expect(scheduled.status == 202 && scheduled["state"] == "\"waiting\"", "\(scheduled)")
            let at = scheduled["at"].flatMap { Date(rfc3339: $0.filter { $0 != "\"" }) }
            #expect(at != nil && at == Date(rfc3339: time), "\(scheduled)")
            // Later changes of the draft are not part of the scheduled version.
            _ = try await app.master("PATCH", Self.path, #"{"text":"bad"}"#, headers: ["if-match": "*"])
            #expect(try await app.service.live.current(app.space).documents.isEmpty)
            // The time comes. One only seconds ahead could pass before the request arrives.
            try await app.database.withSuperuser {
                _ = try await $0.execute("UPDATE config.schedules SET due = now()")
            }
            try await eventually {
                try await app.service.live.current(app.space)[DocumentKey(.flags, "default")] != nil
            }
            let done = try await app.master("GET", "/config/schedules")
            #expect(done["data.0.state"] == "\"published\"" && done["data.0.version"] == "1", "\(done)")
            #expect(try await app.master("GET", Self.path + "/versions/1")["content"] == #"{"text":"later"}"#)

            let past = Date(timeIntervalSinceNow: -2).formatted(.iso8601)
            #expect(try await app.master("POST", Self.path + "/publish", #"{"at":"\#(past)"}"#).status >= 400)
            _ = try await app.master("PATCH", Self.path, #"{"text":"fine"}"#, headers: ["if-match": "*"])
            let far = Date(timeIntervalSinceNow: 3_600).formatted(.iso8601)
            let waiting = try await app.master("POST", Self.path + "/publish", #"{"at":"\#(far)"}"#)
            let id = try #require(waiting["id"]).filter { $0 != "\"" }
            #expect(try await app.master("DELETE", "/config/schedules/\(id)")["state"] == "\"cancelled\"")
            #expect(try await app.master("DELETE", "/config/schedules/\(id)").isProblem(.scheduleNotFound))
        }
    }

    @Test func `documents are exported and imported`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            try await app.publish(.flags, "default", #"{"text":"one","n":1.50}"#)
            _ = try await app.master("PATCH", Self.path, #"{"text":"two"}"#, headers: ["if-match": "*"])
            let exported = try await app.master("GET", "/config/export")
            #expect(
                exported["documents.0.live"] == #"{"text":"one","n":1.50}"#
                    && exported["documents.0.draft"] == #"{"text":"two","n":1.50}"#)

            var other = app
            other.appID = "app2"
            let imported = try await other.master("POST", "/config/import?publish=true", exported.text)
            #expect(imported.status == 200 && imported["published.0.version"] == "1", "\(imported)")
            #expect(try await other.master("GET", "/config/export").text == exported.text)
            #expect(try await other.master("POST", "/config/import", exported.text).isProblem(.conflict))
            #expect(try await other.master("POST", "/config/import?replace=true", exported.text).status == 200)
            let bad = #"{"documents":[{"kind":"flags","name":"a","draft":{}},{"kind":"flags","name":"-","draft":{}}]}"#
            #expect(try await other.master("POST", "/config/import", bad).status == 400)
            #expect(try await other.master("GET", "/config/flags")["count"] == "1")
        }
    }

    @Test func `only callers with the right manage documents`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            try await app.publish(.flags, "default", #"{"text":"one"}"#)
            #expect(try await app.client("GET", Self.path).isProblem(.forbidden))
            #expect(try await app.client("POST", Self.path + "/publish").isProblem(.forbidden))
            #expect(try await app.staff("GET", Self.path).isProblem(.forbidden))
            let reader = StaffRights(["app1": [.config: [.read]]])
            #expect(try await app.staff("GET", Self.path, rights: reader).status == 200)
            #expect(try await app.staff("POST", Self.path + "/publish", rights: reader).isProblem(.forbidden))
            let other = StaffRights(["app2": [.config: [.read, .update]], "app1": [.languages: [.update]]])
            #expect(try await app.staff("POST", Self.path + "/publish", rights: other).isProblem(.forbidden))
            let editor = StaffRights(["app1": [.config: [.read, .update]]])
            let version = try await app.staff("POST", Self.path + "/rollback", #"{"version":1}"#, rights: editor)
            #expect(version.status == 200)
            #expect(
                try await app.staff("PUT", "/config/flags/new", "{}", rights: editor, headers: ["if-none-match": "*"])
                    .isProblem(.forbidden))
            var otherApp = app
            otherApp.appID = "app2"
            #expect(try await otherApp.master("GET", Self.path).isProblem(.documentNotFound))
            #expect(
                try await app.master("GET", "/config/translation").isProblem(.notFound),
                "a kind that this service does not have")
        }
    }

    @Test func `the number of documents is limited`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            for name in ["a", "b", "c"] { try await app.publish(.flags, name, "{}") }
            #expect(
                try await app.master("PUT", "/config/flags/d", "{}", headers: ["if-none-match": "*"]).isProblem(
                    .limitExceeded))
            #expect(
                try await app.master("PUT", "/config/flags/-d", "{}", headers: ["if-none-match": "*"]).isProblem(
                    .invalidName))
        }
    }

    @Test func `concurrent publications create one version each`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            try await app.publish(.flags, "default", #"{"text":"0"}"#)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...8 {
                    group.addTask {
                        _ = try await app.service.publisher.publishImported(
                            #"{"text":"\#(number)"}"#,
                            Publisher.Request(
                                key: DocumentKey(.flags, "default"), space: app.space,
                                author: Author(text: "key:\(number)")))
                    }
                }
                try await group.waitForAll()
            }
            let list = try await app.master("GET", Self.path + "/versions")
            #expect(list["count"] == "9" && list["data.0.isLive"] == "true", "\(list)")
        }
    }

    @Test func `a version cannot be changed`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            try await app.publish(.flags, "default", #"{"text":"one"}"#)
            await #expect(throws: (any Error).self) {
                try await app.postgres.execute("UPDATE config.versions SET content = '{}'")
            }
            await #expect(throws: (any Error).self) { try await app.postgres.execute("DELETE FROM config.versions") }
        }
    }
}

extension ConfigApp {
    /// Like `publish`, for calls that may be refused.
    func publishing(_ kind: DocumentKind, _ name: String, _ content: String) async throws -> Answer {
        _ = try await master("PUT", "/config/\(kind.rawValue)/\(name)", content, headers: ["if-none-match": "*"])
        return try await master("POST", "/config/\(kind.rawValue)/\(name)/publish")
    }
}
