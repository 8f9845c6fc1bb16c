import Foundation
import Testing

@testable import MartletKit

@Suite("Translations")
struct TranslationsTests {
    private static let table: JSON = [
        "language": "pl", "sourceLanguage": "en", "fallback": ["en"],
        "strings": [
            "greeting": "Cześć %@", "order": "%2$@ of %1$@", "price": "%.2f €", "percent": "%d%% done",
            "dogs": ["plural": ["one": "%lld pies", "few": "%lld psy", "many": "%lld psów", "other": "%lld psa"]],
            "cats": ["plural": ["one": "one cat", "other": "%lld cats"]],
            "report": [
                "value": "%#@dogs@ and %#@cats@ for %3$@",
                "substitutions": [
                    "dogs": ["argument": 1, "format": "lld", "plural": ["one": "%arg pies", "other": "%arg psa"]],
                    "cats": ["argument": 2, "format": "lld", "plural": ["one": "a cat", "other": "%arg cats"]],
                ],
            ],
            "tap": ["device": ["mac": "Click", "other": "Tap"]],
            "wide": ["width": ["20": "short", "100": "rather long"]],
        ],
        "languages": ["cats": "en"],
    ]

    @Test(
        arguments: [
            ("greeting", [TextArgument.string("Ann")], "Cześć Ann"), ("order", ["a", "b"], "b of a"),
            ("price", [4.5], "4,50 €"), ("price", [4], "4,00 €"), ("percent", [50], "50% done"),
            ("dogs", [1], "1 pies"), ("dogs", [3], "3 psy"), ("dogs", [5], "5 psów"), ("dogs", [22], "22 psy"),
            ("dogs", [112], "112 psów"), ("cats", [1], "one cat"), ("cats", [3], "3 cats"),
            ("report", [1, 3, "Ann"], "1 pies and 3 cats for Ann"), ("wide", [], "rather long"),
            // Wrong and missing values are shown as well as they can be.
            ("greeting", [], "Cześć %@"), ("dogs", ["many"], "many psa"), ("dogs", [], "%lld psa"),
            ("percent", ["x"], "x% done"), ("unknown %@", [1], "unknown %@"),
        ] as [(String, [TextArgument], String)])
    func `a text gets its values in the right form`(key: String, arguments: [TextArgument], text: String) async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, Self.table) }
        let martlet = try Martlet.scripted(transport, change: { $0.device.language = "pl" })
        try await martlet.translations.refresh()
        #expect(martlet.translations.text(key, arguments: arguments) == text)
    }

    @Test(
        arguments: [
            ("%5d|", [TextArgument.integer(42)], "   42|"), ("%-5d|", [42], "42   |"), ("%05d", [-42], "-0042"),
            ("%+d", [7], "+7"), ("%x %X", [255, 255], "ff FF"), ("%d", [2.9], "2"), ("%@", [2.5], "2.5"),
            ("%", [1], "%"), ("%q %d", [1], "%q 1"), ("%99999999d", [1], String(repeating: " ", count: 199) + "1"),
            ("%.99999f", [0.5], "0.5" + String(repeating: "0", count: 99)), ("%f", [.decimal(.infinity)], "inf"),
        ] as [(String, [TextArgument], String)])
    func `values are written as printf does, within limits`(format: String, values: [TextArgument], text: String) {
        #expect(TextFormat(format).text(values, TextStyle(language: "en")) == text)
    }

    @Test func `a language that is not published falls back to its parent and then to the base language`() async throws
    {
        let transport = ScriptedTransport { request, _ in
            guard request.url.path.contains("/en/") else { return .problem(404, "document-not-found") }
            return HTTPResponse(200, ["language": "en", "strings": ["bye": "Bye"]], ["ETag": "\"e\""])
        }
        let folder = Scratch.folder()
        let martlet = try Martlet.scripted(transport, folder: folder, change: { $0.device.language = "de-AT" })
        try await martlet.translations.refresh()
        #expect(
            transport.sent.map { $0.url.pathComponents.suffix(2).first } == ["de-AT", "de", "en"])
        #expect(martlet.translations.text("bye") == "Bye")
        let offline = try Martlet.scripted(
            ScriptedTransport { _, _ in throw MartletError(.notConnected, "") }, folder: folder,
            change: { $0.device.language = "de-AT" })
        #expect(offline.translations.text("bye") == "Bye")
    }

    @Test(.enabled(if: LiveServer.shared != nil))
    func `texts come from the server in the language that the user chooses`() async throws {
        let server = try #require(LiveServer.shared)
        let version = "72.\(Int.random(in: 0...99_999)).0"
        for (language, text) in [("en", "Hello %@"), ("de", "Hallo %@")] {
            try await server.manage(
                "POST", "translation",
                [
                    "version": .string(version), "language": .string(language), "sourceLanguage": "en",
                    "strings": ["greeting": .string(text)], "published": true, "publish": .bool(language == "de"),
                ])
        }
        let folder = Scratch.folder()
        let martlet = Martlet(try server.configuration(appVersion: version, folder: folder))
        #expect(try await martlet.translations.refresh())
        #expect(martlet.translations.text("greeting", "Ann") == "Hello Ann")
        try await martlet.translations.choose(language: "de-CH")
        #expect(martlet.translations.text("greeting", "Ann") == "Hallo Ann")
        #expect(try await martlet.translations.refresh() == false)
        let restarted = Martlet(try server.configuration(appVersion: version, folder: folder))
        #expect(restarted.translations.text("greeting", "Ann") == "Hallo Ann")
    }
}
