import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import ConfigService

@Suite struct FlagsTests {
    static let document = """
        {"flags":{"dark":{"type":"boolean","default":false,"rules":[{"id":"ch","when":{"country":"CH"},"value":true}]},
          "rate":{"type":"number","default":1.0},"half":{"type":"string","default":"a","rules":[{"value":"b","percent":50}]},
          "own":{"type":"boolean","default":false,"rules":[{"when":{"user.id":"ada"},"value":true}]}}}
        """

    static func evaluate(
        _ app: ConfigApp, _ path: String = "", _ context: String = #"{"targetingKey":"u1"}"#,
        as kind: Principal.Kind = .evaluation,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        try await send(app, path, #"{"context":\#(context)}"#, as: kind, headers: headers)
    }

    static func send(
        _ app: ConfigApp, _ path: String, _ body: String, as kind: Principal.Kind = .evaluation,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        try await app.gateway.acting(as: app.principal(kind)).send(
            "POST", "/ofrep/v1/evaluate/flags" + path, body, headers: headers)
    }

    @Test func `flags are evaluated one by one and all at once`() async throws {
        try await ConfigApp.run { app in
            let nothing = try await Self.evaluate(app)
            #expect(nothing.status == 200 && nothing["flags"] == "[]", "\(nothing)")
            #expect(try await app.publish(.flags, "default", Self.document).status == 200)

            let dark = try await Self.evaluate(app, "/dark", #"{"targetingKey":"u1","country":"CH"}"#)
            #expect(
                dark.text
                    == #"{"key":"dark","value":true,"reason":"TARGETING_MATCH","variant":"on","metadata":{"rule":"ch"}}"#
            )
            #expect(
                try await Self.evaluate(app, "/rate").text
                    == #"{"key":"rate","value":1.0,"reason":"STATIC","variant":"default"}"#,
                "the digits are those typed")
            let all = try await Self.evaluate(app, "", #"{"targetingKey":"u1","country":"CH"}"#)
            #expect(
                all["flags.0"] == dark.text && all["flags.3.key"] == "\"own\"" && all["metadata.version"] == "\"1\"",
                "\(all)")
            #expect(all["eventStreams.0.endpoint.requestUri"] == "\"/ofrep/v1/events\"")
            // Flags of another environment are separate.
            var test = app
            test.environment = .test
            #expect(try await Self.evaluate(test)["flags"] == "[]")
        }
    }

    @Test func `a client with the current answers gets 304`() async throws {
        try await ConfigApp.run { app in
            try await app.publish(.flags, "default", Self.document)
            let tag = try #require(try await Self.evaluate(app).header("etag"))
            let again = try await Self.evaluate(app, headers: ["if-none-match": tag])
            #expect(again.status == 304 && again.text.isEmpty && again.header("etag") == tag)
            #expect(
                try await Self.evaluate(app, "", #"{"targetingKey":"u2"}"#, headers: ["if-none-match": tag]).status
                    == 200)
            #expect(
                try await Self.evaluate(app, headers: ["if-none-match": "abc123"]).status == 200,
                "as clients without quotes send it")
            try await app.publish(.flags, "default", Self.document.replacing("1.0", with: "1.5"))
            let changed = try await Self.evaluate(app, headers: ["if-none-match": tag])
            #expect(changed.status == 200 && changed["flags.1.value"] == "1.5" && changed.header("etag") != tag)
        }
    }

    @Test(arguments: [
        ("", "{", 400, "PARSE_ERROR"), ("/dark", "", 400, "PARSE_ERROR"), ("", "[]", 400, "INVALID_CONTEXT"),
        ("/dark", "{}", 400, "INVALID_CONTEXT"),
        ("", #"{"context":1}"#, 400, "INVALID_CONTEXT"), ("", #"{"context":{}}"#, 400, "TARGETING_KEY_MISSING"),
        ("/dark", #"{"context":{"targetingKey":1}}"#, 400, "INVALID_CONTEXT"),
        ("/nothing", #"{"context":{"targetingKey":"u"}}"#, 404, "FLAG_NOT_FOUND"),
        ("", #"{"context":{"targetingKey":"\#(String(repeating: "x", count: 70_000))"}}"#, 400, "GENERAL"),
    ])
    func `errors have the form that OFREP specifies`(_ path: String, _ body: String, _ status: Int, _ code: String)
        async throws
    {
        try await ConfigApp.run { app in
            try await app.publish(.flags, "default", Self.document)
            let answer = try await Self.send(app, path, body)
            #expect(
                answer.status == status && answer["errorCode"] == "\"\(code)\"" && answer["errorDetails"] != nil,
                "\(answer)")
            #expect(answer["key"] == (path.isEmpty ? nil : "\"\(path.dropFirst())\"") && answer["code"] == nil)
        }
    }

    @Test func `an app gets the rules of the flags that devices evaluate, and nothing of the others`() async throws {
        try await ConfigApp.run { app in
            let path = "/flags/rules"
            #expect(try await app.client("GET", path).text == #"{"format":1,"version":null,"flags":{}}"#)
            let local = """
                {"flags":{"secret":{"type":"boolean","default":false,"rules":[{"when":"hidden","value":true}]},
                  "off":{"type":"boolean","default":false,"localEvaluation":true,"enabled":false},
                  "title":{"type":"string","default":"live","localEvaluation":true,"description":"Ours",
                    "rules":[{"when":"hidden","value":"ch","percent":50}]}},
                 "conditions":{"hidden":{"country":"CH"}}}
                """
            try #require(try await app.publish(.flags, "default", local).status == 200)
            let first = try await app.client("GET", path)
            let own =
                #"{"condition":{"country":"CH"},"attribute":"id","seed":"title","hashVersion":2,"ranges":[[0.0,0.5]],"#
                + #""variations":[{"value":"ch","variant":"rule-1"}]}"#
            #expect(
                first.text
                    == #"{"format":1,"version":1,"flags":{"title":{"value":"live","variant":"default","#
                    + #""reason":"UNKNOWN","rules":[\#(own)]}}}"#, "\(first)")
            let tag = try #require(first.header("etag"))
            #expect(try await app.client("GET", path, headers: ["if-none-match": tag]).status == 304)
            let malformed = try await app.client("GET", path, headers: ["if-none-match": "x"])
            #expect(malformed.isProblem(.invalidParameter, field: "If-None-Match"), "\(malformed)")

            // A running experiment comes first. Its variation without a value leaves the decision to the flag's rules.
            let experiment = """
                {"title":"Title","state":"draft","unit":"device","appVersion":"2.0","variations":[{"key":"control"},
                {"key":"b","flags":{"title":"tested"}}]}
                """
            try #require(
                try await app.master("PUT", "/config/experiment/title", experiment, headers: ["if-none-match": "*"])
                    .status == 201)
            try #require(try await app.master("POST", "/config/experiment/title/start").status == 200)
            let second = try await app.client("GET", path, headers: ["if-none-match": tag])
            let rule = "flags.title.rules.0"
            #expect(second[rule + ".variations"] == #"[{"variant":"control"},{"value":"tested","variant":"b"}]"#)
            #expect(second[rule + ".ranges"] == "[[0.0,0.5],[0.5,1.0]]", "\(second)")
            #expect(second[rule + ".attribute"] == #""deviceId""#)
            #expect(second[rule + ".condition"] == #"{"$and":[{},{"appVersion":{"$eq":"2.0"}}]}"#, "\(second)")
            #expect(second["flags.title.rules.1"] == own)

            // The server looks up earlier variations, which devices cannot.
            let later = experiment.replacing(#""state":"draft""#, with: #""state":"running","phase":1"#)
            try #require(try await app.publish(.experiment, "title", later).status == 200)
            #expect(try await app.client("GET", path)["flags"] == "{}")
        }
    }

    @Test func `an app evaluates flags for the signed-in user`() async throws {
        try await ConfigApp.run { app in
            let path = "/flags/evaluate"
            #expect(try await app.client("POST", path).text == #"{"version":null,"flags":{},"experiments":{}}"#)
            try await app.publish(.flags, "default", Self.document)
            let claim = #"{"context":{"targetingKey":"phone","user":{"id":"ada"},"userId":"ada"}}"#
            let claimed = try await app.client("POST", path, claim)
            #expect(
                claimed["flags.own"] == #"{"type":"boolean","value":false,"variant":"off","reason":"UNKNOWN"}"#,
                "\(claimed)")
            let ada = try await app.client("POST", path, claim, user: "ada")
            #expect(
                ada["version"] == "1" && ada["flags.own.value"] == "true" && ada["flags.rate.value"] == "1.0", "\(ada)")
            #expect(try await app.client("POST", path, claim, user: "bob")["flags.own.value"] == "false")
            // The same context for another user is a different request.
            let tag = try #require(ada.header("etag"))
            #expect(
                try await app.client("POST", path, claim, user: "ada", headers: ["if-none-match": tag]).status == 304)
            #expect(
                try await app.client("POST", path, claim, user: "bob", headers: ["if-none-match": tag]).status == 200)
            #expect(try await app.client("POST", path, #"{"context":[]}"#).isProblem(.invalidBody, field: "context"))
            #expect(
                try await app.client("POST", path, #"{"attributes":{}}"#).isProblem(.invalidBody, field: "attributes"))
        }
    }

    @Test func `other callers are refused`() async throws {
        try await ConfigApp.run { app in
            for kind in [Principal.Kind.client, .ingest, .link] {
                let flags = try await Self.evaluate(app, as: kind)
                let events = try await app.gateway.acting(as: app.principal(kind)).get("/ofrep/v1/events")
                #expect(flags.isProblem(.forbidden) && events.isProblem(.forbidden), "\(kind)")
            }
            let evaluator = app.gateway.acting(as: app.principal(.evaluation))
            let (all, draft) = (
                try await evaluator.post("/flags/evaluate", "{}"), try await evaluator.get("/config/flags/default")
            )
            #expect(all.isProblem(.forbidden) && draft.isProblem(.forbidden))
        }
    }

    @Test func `invalid flags are not published`() async throws {
        try await ConfigApp.run { app in
            let path = "/config/flags/default"
            try await app.publish(.flags, "default", Self.document)
            let bad = #"{"flags":{"dark":{"type":"boolean","default":1,"rules":[{"when":"nobody","value":true}]}}}"#
            let stored = try await app.master("PUT", path, bad, headers: ["if-match": "*"])
            #expect(stored.status == 200 && stored["findings.0.path"] == "\"/flags/dark/default\"", "\(stored)")
            let refused = try await app.master("POST", path + "/publish")
            #expect(
                refused.isProblem(.documentRefused) && refused["findings.1.code"] == "\"unknown-condition\"",
                "\(refused)")
            #expect(try await Self.evaluate(app)["flags.1.value"] == "1.0", "the live version is unchanged")
            #expect(
                try await app.master("PUT", "/config/flags/other", "{}", headers: ["if-none-match": "*"]).isProblem(
                    .invalidName))
        }
    }

    @Test func `a Firebase template becomes the draft as a whole or is refused`() async throws {
        try await ConfigApp.run { app in
            let path = "/config/flags/default"
            let template = { (expression: String) in
                #"{"conditions":[{"name":"few","expression":"\#(expression)"}],"parameters":{"p":{"defaultValue":{"value":"1.0"},"valueType":"NUMBER","conditionalValues":{"few":{"value":"2"}}}}}"#
            }
            let good = template("percent('3') <= 50 && device.os == 'ios'")
            #expect(try await app.master("POST", path + "/import-firebase", good).isProblem(.preconditionRequired))
            let made = try await app.master("POST", path + "/import-firebase", good, headers: ["if-none-match": "*"])
            #expect(made.status == 201 && made["findings"] == "[]" && made.header("etag") == "\"1\"", "\(made)")
            #expect(try await app.master("POST", path + "/publish").status == 200)
            #expect(try await Self.evaluate(app, "/p", #"{"targetingKey":"three","platform":"ios"}"#)["value"] == "2")
            #expect(try await Self.evaluate(app, "/p", #"{"targetingKey":"one","platform":"ios"}"#)["value"] == "1.0")

            let draft = try await app.master("GET", path).text
            let bad = try await app.master(
                "POST", path + "/import-firebase", template("app.audiences.inAll(['a'])"), headers: ["if-match": "*"])
            #expect(
                bad.isProblem(.documentRefused) && bad["findings.0.path"] == "\"/conditions/0/expression\"", "\(bad)")
            #expect(try await app.master("GET", path).text == draft)
            #expect(
                try await app.client("POST", path + "/import-firebase", good, headers: ["if-match": "*"]).isProblem(
                    .forbidden))
            #expect(
                try await app.master("POST", "/config/flags/x/import-firebase", good, headers: ["if-match": "*"])
                    .isProblem(.notFound))
        }
    }
}
