import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import ConfigService

@Suite struct TranslationTests {
    private static let path = "/config/translation/1.2.0"

    /// German lacks `bye`, Austrian German has one text of its own, and French is not published yet.
    private static let document = """
        {"sourceLanguage":"en","languages":{"en":{"published":true},"de":{"published":true},"de-AT":{"published":true},"fr":{"published":false}},
        "strings":{
        "hello":{"comment":"Greeting","localizations":{"en":{"stringUnit":{"value":"Hello %@"}},"de":{"stringUnit":{"value":"Hallo %@"}},"de-AT":{"stringUnit":{"value":"Servus %@"}}}},
        "bye":{"localizations":{"en":{"stringUnit":{"value":"Bye"}},"fr":{"stringUnit":{"value":"Au revoir"}}}},
        "dogs":{"localizations":{"en":{"variations":{"plural":{"one":{"stringUnit":{"value":"a dog"}},"other":{"stringUnit":{"value":"%lld dogs"}}}}},
        "de":{"variations":{"plural":{"one":{"stringUnit":{"state":"needs_review","value":"ein Hund"}},"other":{"stringUnit":{"value":"%lld Hunde"}}}}}}}}}
        """

    @Test func `clients get a language with missing texts from its fallbacks`() async throws {
        try await ConfigApp.run { app in
            #expect(try await app.client("GET", "/translation/de/1.2.0").isProblem(.documentNotFound))
            let published = try await app.publish(.translation, "1.2.0", Self.document)
            #expect(published.status == 200 && published["findings.0.severity"] == "\"warning\"", "\(published)")

            let austrian = try await app.client("GET", "/translation/de-AT/1.2.0")
            #expect(
                austrian.status == 200 && austrian["strings.hello"] == "\"Servus %@\""
                    && austrian["strings.bye"] == "\"Bye\"", "\(austrian)")
            #expect(austrian["strings.dogs.plural.one"] == "\"ein Hund\"" && austrian["languages.dogs"] == "\"de\"")
            #expect(
                austrian.header("content-language") == "de-AT"
                    && austrian.header("translation-version") == "\"1.2.0~1\"")
            let swiss = try await app.client("GET", "/translation/de-CH/1.2.0")
            #expect(swiss.header("content-language") == "de" && swiss["strings.hello"] == "\"Hallo %@\"")
            for missing in [
                "/translation/fr/1.2.0", "/translation/nl/1.2.0", "/translation/de/1.1.9", "/translation/!/1.2.0",
            ] {
                #expect(try await app.client("GET", missing).isProblem(.documentNotFound), "\(missing)")
            }
            #expect(try await app.client("GET", "/translation/de/1.2.0?x=1").isProblem(.invalidParameter, field: "x"))

            let versioned = try await app.client("GET", "/translationVersion/de/1.2.0~1")
            #expect(versioned.text == swiss.text)
            for missing in ["1.2.0~2", "1.2.0", "1.2.0~", "1.2.0~x"] {
                #expect(
                    try await app.client("GET", "/translationVersion/de/\(missing)").isProblem(.versionNotFound),
                    "\(missing)")
            }
        }
    }

    @Test(
        arguments: [
            ("1.1.9", nil), ("1.2", "1.2.0"), ("1.2.0", "1.2.0"), ("1.2.1", "1.2.0"), ("1.10.0-beta.1", "1.2.0"),
            ("1.10.0", "1.10.0"), ("2.0", "1.10.0"),
            ("spring", "spring"), ("autumn", nil),
        ] as [(String, String?)])
    func `an app version without translations gets those of the newest version below it`(
        _ version: String, _ expected: String?
    ) async throws {
        try await ConfigApp.run { app in
            for name in ["1.2.0", "1.10.0", "spring"] {
                try #require(
                    try await app.publish(
                        .translation, name,
                        #"{"sourceLanguage":"en","strings":{"name":{"localizations":{"en":{"stringUnit":{"value":"\#(name)"}}}}}}"#
                    ).status == 200)
            }
            let answer = try await app.client("GET", "/translation/en/\(version)")
            guard let expected else {
                #expect(answer.isProblem(.documentNotFound), "\(answer)")
                return
            }
            #expect(
                answer["strings.name"] == "\"\(expected)\""
                    && answer.header("translation-version") == "\"\(expected)~1\"", "\(answer)")
            // `translationVersion` requires the exact version of the document; there is no fallback.
            #expect(
                try await app.client("GET", "/translationVersion/en/\(version)~1").status
                    == (version == expected ? 200 : 404))
        }
    }

    @Test func `an entity tag is valid for one language only`() async throws {
        try await ConfigApp.run { app in
            try await app.publish(.translation, "1.2.0", Self.document)
            let german = try #require(try await app.client("GET", "/translation/de/1.2.0").header("etag"))
            let austrian = try #require(try await app.client("GET", "/translation/de-AT/1.2.0").header("etag"))
            let known = try await app.client("GET", "/translation/de/1.2.0", headers: ["if-none-match": german])
            #expect(known.status == 304 && known.text.isEmpty && known.header("etag") == german)

            let edit = #"{"localizations":{"de-AT":{"stringUnit":{"value":"Griaß di %@"}}}}"#
            let edited = try await app.master("PATCH", Self.path + "/keys/hello", edit, headers: ["if-match": "*"])
            #expect(edited.status == 200 && edited["findings"] == "[]", "\(edited)")
            #expect(try await app.master("POST", Self.path + "/publish").status == 200)
            #expect(
                try await app.client("GET", "/translation/de/1.2.0", headers: ["if-none-match": german]).status == 304)
            let changed = try await app.client("GET", "/translation/de-AT/1.2.0", headers: ["if-none-match": austrian])
            #expect(
                changed.status == 200 && changed["strings.hello"] == "\"Griaß di %@\""
                    && changed.header("translation-version") == "\"1.2.0~2\"")
        }
    }

    @Test func `texts that break clients are not published`() async throws {
        try await ConfigApp.run { app in
            let broken = Self.document.replacing("Hallo %@", with: "Hallo %lld")
            let refused = try await app.publish(.translation, "1.2.0", broken)
            #expect(refused.isProblem(.documentRefused), "\(refused)")
            #expect(
                refused["findings.0.code"] == "\"placeholder-mismatch\""
                    && refused["findings.0.path"] == "\"/strings/hello/localizations/de\"")
            #expect(try await app.client("GET", "/translation/de/1.2.0").isProblem(.documentNotFound))
            let unknown = try await app.publish(
                .translation, "1.2.0", #"{"sourceLanguage":"en","strings":{"a":{"texts":{}}}}"#)
            #expect(
                unknown["findings.0.code"] == "\"invalid-catalogue\""
                    && unknown["findings.0.path"] == "\"/strings/a/texts\"", "\(unknown)")
            let named = try await app.master(
                "PUT", "/config/translation/1.2.0~Dark", "{}", headers: ["if-none-match": "*"])
            #expect(named.isProblem(.invalidName))
        }
    }

    @Test func `the test environment has the pseudo-locale`() async throws {
        try await ConfigApp.run { live in
            var app = live
            app.environment = .test
            try await app.publish(.translation, "1.2.0", Self.document)
            let pseudo = try await app.client("GET", "/translation/en-XA/1.2.0")
            #expect(pseudo["strings.hello"] == "\"[Ĥéļļö %@ one]\"", "\(pseudo)")
        }
    }

    @Test func `a language is uploaded and published in one call`() async throws {
        try await ConfigApp.run { app in
            let body =
                #"{"version":"1.2.0","language":"de","sourceLanguage":"en","strings":{"hello":"Hallo","dogs|==|plural.one":"ein Hund","dogs|==|plural.other":"%lld Hunde"},"#
            let stored = try await app.master("POST", "/translation", body + #""published":true}"#)
            #expect(stored.status == 200 && stored["revision"] == "1", "\(stored)")
            #expect(try await app.client("GET", "/translation/de/1.2.0").isProblem(.documentNotFound))
            let published = try await app.master("POST", "/translation", body + #""publish":true,"note":"first"}"#)
            #expect(published["published.version"] == "1" && published["published.note"] == "\"first\"", "\(published)")
            #expect(
                try await app.client("GET", "/translation/de/1.2.0")["strings.dogs.plural.other"] == "\"%lld Hunde\"")

            // A new document takes effect at once; a refused one not at all.
            let second = try await app.master(
                "POST", "/translation", #"{"version":"2.0","language":"en","strings":{"a":"b"},"publish":true}"#)
            #expect(second["published.version"] == "1", "\(second)")
            let broken = try await app.master(
                "POST", "/translation",
                #"{"version":"3.0","language":"en","strings":{"a|==|plural.one":"b"},"publish":true}"#)
            #expect(broken.isProblem(.documentRefused), "\(broken)")
            #expect(try await app.master("GET", "/config/translation/3.0").isProblem(.documentNotFound))
            #expect(try await app.client("POST", "/translation", body + #""published":true}"#).isProblem(.forbidden))
        }
    }

    @Test(arguments: [
        (#"{"language":"de","strings":{}}"#, "version"), (#"{"version":"1","strings":{}}"#, "language"),
        (#"{"version":"1","language":"deutsch!","strings":{}}"#, "language"),
        (#"{"version":"1","language":"de"}"#, "strings"),
        (#"{"version":"1","language":"de","strings":{"a":1}}"#, "strings/a"),
        (#"{"version":"1","language":"de","strings":{},"texts":{}}"#, "texts"),
        (#"{"version":"1~2","language":"de","strings":{}}"#, "version"),
        (#"{"version":"1","language":"de","strings":[]}"#, "strings"),
    ])
    func `an invalid body is refused by field`(body: String, field: String) async throws {
        try await ConfigApp.run { (app: ConfigApp) async throws in
            #expect(try await app.master("POST", "/translation", body).isProblem(.invalidBody, field: field))
            #expect(try await app.master("GET", "/config/translation")["count"] == "0")
        }
    }
}
