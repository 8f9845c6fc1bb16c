import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import ConfigService

@Suite struct TranslationKeyTests {
    private static let path = "/config/translation/1.0"
    private static let document = """
        {"sourceLanguage":"en","languages":{"en":{"published":true},"de":{"published":true}},"strings":{
        "a":{"comment":"First","localizations":{"en":{"stringUnit":{"value":"One"}},"de":{"stringUnit":{"value":"Eins"}}}},
        "b":{"localizations":{"en":{"stringUnit":{"value":"Two"}},"de":{"stringUnit":{"state":"needs_review","value":"Zwei"}}}},
        "c/d e":{"localizations":{"en":{"stringUnit":{"value":"Three"}}}}}}
        """

    private static func run(_ body: @Sendable (ConfigApp) async throws -> Void) async throws {
        try await ConfigApp.run { app in
            try #require(try await app.master("PUT", path, document, headers: ["if-none-match": "*"]).status == 201)
            try await body(app)
        }
    }

    @Test func `keys are filtered by missing texts, state, language and search`() async throws {
        try await Self.run { app in
            let cases: [(query: String, keys: [String])] = [
                ("", ["a", "b", "c/d e"]), ("?missing=de", ["c/d e"]), ("?language=de&state=needs_review", ["b"]),
                ("?state=translated&language=de", ["a"]),
                ("?search=first", ["a"]), ("?search=ZWEI", ["b"]), ("?search=zwei&language=en", []),
                ("?limit=2", ["a", "b"]), ("?after=a", ["b", "c/d e"]),
                ("?missing=fr&limit=1", ["a"]),
            ]
            for (query, keys) in cases {
                let list = try await app.master("GET", Self.path + "/keys" + query)
                let found = try (0..<(Int(list["count"] ?? "") ?? 0)).map { try #require(list["data.\($0).key"]) }
                #expect(found == keys.map(JSONValue.quote), "\(query) \(list)")
            }
            #expect(try await app.master("GET", Self.path + "/keys?limit=2")["next"] == "\"b\"")
            let first = try await app.master("GET", Self.path + "/keys")
            #expect(
                first["data.2.states"] == #"{"de":"new","en":"translated"}"#
                    && first["data.0.entry.comment"] == "\"First\"", "\(first)")
            for (query, field) in [
                ("state=done", "state"), ("missing=d", "missing"), ("missing=de&state=new", "missing"), ("x=1", "x"),
                ("limit=0", "limit"),
            ] {
                #expect(
                    try await app.master("GET", Self.path + "/keys?\(query)").isProblem(
                        .invalidParameter, field: field), "\(query)")
            }
            #expect(try await app.master("GET", Self.path + "/keys?version=live").isProblem(.versionNotFound))
            #expect(try await app.master("GET", "/config/translation/9/keys").isProblem(.documentNotFound))
            #expect(try await app.client("GET", Self.path + "/keys").isProblem(.forbidden))
        }
    }

    @Test func `a single key is changed only at the expected revision`() async throws {
        try await Self.run { app in
            let entry = #"{"localizations":{"en":{"stringUnit":{"value":"%@"}},"de":{"stringUnit":{"value":"%lld"}}}}"#
            let made = try await app.master("PUT", Self.path + "/keys/new", entry, headers: ["if-match": "\"1\""])
            #expect(made.status == 200 && made["revision"] == "2" && made.header("etag") == "\"2\"", "\(made)")
            #expect(made["findings.0.code"] == "\"placeholder-mismatch\"")
            #expect(
                try await app.master("PUT", Self.path + "/keys/new", entry, headers: ["if-match": "\"1\""]).isProblem(
                    .preconditionFailed))
            #expect(try await app.master("PUT", Self.path + "/keys/new", entry).isProblem(.preconditionRequired))

            let patched = try await app.master(
                "PATCH", Self.path + "/keys?key=c/d%20e", #"{"localizations":{"de":{"stringUnit":{"value":"Drei"}}}}"#,
                headers: ["if-match": "\"2\""])
            #expect(patched.status == 200, "\(patched)")
            #expect(try await app.master("GET", Self.path + "/keys?missing=de")["count"] == "0")
            #expect(
                try await app.master("DELETE", Self.path + "/keys/new", headers: ["if-match": "\"3\""]).status == 200)
            #expect(
                try await app.master("DELETE", Self.path + "/keys/new", headers: ["if-match": "\"4\""]).isProblem(
                    .documentNotFound))

            for (body, field) in [
                (#"{"comment":1}"#, "/comment"),
                (#"{"localizations":{"de":{"stringUnit":{"value":null}}}}"#, "/localizations/de/stringUnit/value"),
                (#"{"texts":{}}"#, "/texts"),
            ] {
                #expect(
                    try await app.master("PATCH", Self.path + "/keys/a", body, headers: ["if-match": "*"]).isProblem(
                        .invalidBody, field: field))
            }
            #expect(try await app.master("GET", Self.path).header("etag") == "\"4\"")
            #expect(
                try await app.master("PUT", "/config/translation/9/keys/a", entry, headers: ["if-match": "*"])
                    .isProblem(.preconditionFailed))
        }
    }

    @Test func `staff need rights in the area languages`() async throws {
        try await Self.run { app in
            #expect(try await app.staff("GET", Self.path + "/coverage").isProblem(.forbidden))
            let reader = StaffRights([StaffRights.everyApp: [.languages: [.read]]])
            let coverage = try await app.staff("GET", Self.path + "/coverage", rights: reader)
            #expect(
                coverage["keys"] == "3" && coverage["data.0.missing"] == "1" && coverage["data.0.needsReview"] == "1"
                    && coverage["data.0.published"] == "true", "\(coverage)")
            #expect(
                try await app.staff("DELETE", Self.path + "/keys/a", rights: reader, headers: ["if-match": "*"])
                    .isProblem(.forbidden))
            #expect(
                try await app.staff("POST", Self.path + "/import?format=json&language=de", "{}", rights: reader)
                    .isProblem(.forbidden))
            #expect(try await app.staff("POST", "/translation", "{}", rights: reader).isProblem(.forbidden))
        }
    }

    @Test func `files are imported and exported`() async throws {
        try await Self.run { app in
            let path = Self.path + "/import?format=json&language=de"
            let dry = try await app.master("POST", path + "&dryRun=true", #"{"a":"Eins","b":"Zwo","x":"neu"}"#)
            #expect(
                dry.status == 200 && dry["added"] == "1" && dry["changed"] == "1" && dry["unchanged"] == "1"
                    && dry["revision"] == nil, "\(dry)")
            #expect(try await app.master("GET", Self.path).header("etag") == "\"1\"")
            let merged = try await app.master(
                "POST", path, #"{"a":"Eins","b":"Zwo","x":"neu"}"#, headers: ["if-match": "\"1\""])
            #expect(merged["revision"] == "2" && merged.header("etag") == "\"2\"", "\(merged)")
            #expect(
                try await app.master("POST", path, "{}", headers: ["if-match": "\"1\""]).isProblem(.preconditionFailed))
            let replaced = try await app.master("POST", path + "&mode=replace", #"{"a":"Eins"}"#)
            #expect(replaced["removed"] == "1" && replaced["changed"] == "1", "\(replaced)")

            let strings = try await app.master("GET", Self.path + "/export?format=strings&language=en")
            #expect(
                strings.text == "/* First */\n\"a\" = \"One\";\n\n\"b\" = \"Two\";\n\n\"c/d e\" = \"Three\";\n\n",
                "\(strings)")
            #expect(
                strings.header("content-disposition") == "attachment; filename=\"1.0-en.strings\""
                    && strings.header("skipped-texts") == "0")
            let pseudo = try await app.master("GET", Self.path + "/export?format=json&language=en-XA")
            #expect(pseudo["a"] == "\"[Öñé one]\"", "\(pseudo)")

            let xliff = try await app.master("GET", Self.path + "/export?format=xliff&language=fr")
            let french = xliff.text.replacing("<source>One</source>", with: "<source>One</source><target>Un</target>")
            #expect(try await app.master("POST", Self.path + "/import?format=xliff", french)["changed"] == "1")
            #expect(try await app.master("GET", Self.path + "/export?format=json&language=fr").text == #"{"a":"Un"}"#)

            let new = try await app.master(
                "POST", "/config/translation/2.0/import?format=csv&sourceLanguage=en", "key,en,de\r\na,One,Eins\r\n")
            #expect(new["revision"] == "1" && new["added"] == "1", "\(new)")
        }
    }

    @Test(
        arguments: [
            ("import?language=de", "{}", ErrorCode.invalidParameter, "format"),
            ("import?format=json", "{}", .invalidParameter, "language"),
            ("import?format=json&language=de&mode=x", "{}", .invalidParameter, "mode"),
            ("import?format=json&language=de", "[", .invalidBody, nil),
            ("import?format=json&language=de", #"{"a":1}"#, .invalidBody, "/a"),
            ("import?format=json&language=de&force=true", "{}", .invalidParameter, "force"),
            (
                "import?format=android&language=de", "<!DOCTYPE a [<!ENTITY b \"c\">]><resources/>", .invalidBody,
                "line 1"
            ),
        ] as [(String, String, ErrorCode, String?)])
    func `an invalid file changes nothing`(path: String, body: String, code: ErrorCode, field: String?) async throws {
        try await Self.run { (app: ConfigApp) async throws in
            #expect(try await app.master("POST", Self.path + "/" + path, body).isProblem(code, field: field))
            #expect(try await app.master("GET", Self.path).header("etag") == "\"1\"")
            #expect(
                try await app.master("GET", Self.path + "/export?format=strings").isProblem(
                    .invalidParameter, field: "language"))
        }
    }
}
