import Foundation
import MartletAPI
import MartletCore
import MartletLogic
import MartletPostgres
import MartletTesting
import Testing

@testable import ConfigService

@Suite struct DefinitionTests {
    @Test("The address book of Napton's manual is published and downloaded part by part")
    func addressBook() async throws {
        try await ConfigApp.run { app in
            let published = try await app.publish(.definition, "address-book", DefinitionFixture.addressBook)
            #expect(published.status == 200 && published["version"] == "1", "\(published)")
            var device = DefinitionDownload(app, "address-book")
            #expect(
                try await device.update() == [
                    "app.json", "models/Contacts", "views/ContactsView", "views/ContactRow", "views/ContactDetailView",
                    "controllers/ContactsController", "controllers/ContactDetailController",
                ])
            let root = try device.part("app.json")
            #expect(root["root_controller"] == .string("ContactsController"))
            #expect(
                root["models"]?["Contacts"] == .string("models/Contacts")
                    && root["views"]?["ContactRow"] == .string("views/ContactRow"))
            #expect(root["requires"] == nil)
            #expect(device.manifest?.requires == ["RoundImageView": 1] && device.manifest?.version == 1)
            #expect(try device.part("models/Contacts")["8"]?["lastName"] == .string("Jones"))
            #expect(try await device.update() == [], "nothing changed")
        }
    }

    @Test("The change scenario: three changed lines on the server reach clients in less than 3 KB")
    func changeScenario() async throws {
        try await ConfigApp.run { app in
            #expect(DefinitionFixture.kickInChange.trimmingCharacters(in: .newlines).split(separator: "\n").count <= 3)
            #expect(try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn).status == 200)
            var device = DefinitionDownload(app, "kick-in")
            #expect(try await device.update().count == 6)
            let whole = device.sizeInBytes

            let changed = try await app.master(
                "PATCH", "/config/definition/kick-in", DefinitionFixture.kickInChange, headers: ["if-match": "*"])
            #expect(changed.status == 200, "\(changed)")
            #expect(try await app.master("POST", "/config/definition/kick-in/publish")["version"] == "2")
            #expect(try await device.update() == ["views/EventDetailView"])
            #expect(device.sizeInBytes < 3_000, "\(device.sizeInBytes) of \(whole) bytes")
            #expect(device.sizeInBytes > 500)
            let contents = try #require(try device.part("views/EventDetailView")["contents"])
            #expect(
                contents["0"]?.text
                    == #"{"name":"image","kind":"ImageView","url":"@.image_url","height":200,"width":"fill"}"#
                    && contents["1"]?["name"] == .string("title"))
            #expect(contents["4"]?["name"] == .string("description") && contents["5"] == nil)

            // Reverted in one call: a newer version with the older content, of which the client has every part.
            #expect(
                try await app.master("POST", "/config/definition/kick-in/rollback", #"{"version":1}"#)["version"] == "3"
            )
            #expect(try await device.update() == [] && device.manifest?.version == 3)
        }
    }

    @Test("A manifest that was modified, or is older than one seen before, is refused")
    func tampered() async throws {
        try await ConfigApp.run { app in
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            let first = try await app.client("GET", "/definitions/kick-in/manifest").text
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn(DefinitionFixture.kickInChange).text)
            let second = try await app.client("GET", "/definitions/kick-in/manifest").text
            let keys = try await DefinitionDownload.keys(of: app)
            func verify(_ json: String, name: String = "kick-in", environment: String = "live", latest: Int? = nil)
                throws -> Int
            {
                try SignedManifest(json: Data(json.utf8)).verified(
                    name: name, environment: environment, latest: latest, isSigned: keys.isSigned
                ).version
            }
            // An attacker who withholds newer manifests has a week, in whole UTC days from the day of the signature.
            let expires = try #require(
                try SignedManifest(json: Data(second.utf8)).manifest.expires.flatMap { Date(rfc3339: $0) })
            #expect(
                (7 * 86_400...8 * 86_400).contains(expires.timeIntervalSinceNow)
                    && expires.timeIntervalSince1970.truncatingRemainder(dividingBy: 86_400) == 0)
            let signed = try SignedManifest(json: Data(second.utf8))
            func at(_ date: Date) throws -> Int {
                try signed.verified(
                    name: "kick-in", environment: "live", latest: nil, at: date, isSigned: keys.isSigned
                ).version
            }
            #expect(try at(expires.addingTimeInterval(-1)) == 2)
            #expect(throws: SignedManifest.Failure.expired) { try at(expires) }
            #expect(throws: SignedManifest.Failure.notSigned) {
                try verify(second.replacing(expires.formatted(.iso8601), with: "2999-01-01T00:00:00Z"))
            }
            #expect(try verify(first) == 1 && verify(second, latest: 1) == 2 && verify(second, latest: 2) == 2)
            #expect(throws: SignedManifest.Failure.older(than: 2)) { try verify(first, latest: 2) }
            #expect(throws: SignedManifest.Failure.notSigned) {
                try verify(first.replacing(#""version":1"#, with: #""version":3"#), latest: 2)
            }
            #expect(throws: SignedManifest.Failure.notSigned) {
                try verify(second.replacing("EventRow", with: "EventRaw"))
            }
            #expect(throws: SignedManifest.Failure.notThisApp) { try verify(second, name: "address-book") }
            #expect(throws: SignedManifest.Failure.notThisApp) { try verify(second, environment: "test") }
            #expect(throws: SignedManifest.Failure.unreadable) { try verify("{}") }
            #expect(throws: SignedManifest.Failure.unreadable) {
                try verify(second.replacing(#""schema":1"#, with: #""schema":2"#))
            }

            // The same manifest in another notation is the same manifest.
            let value = try #require(try JSONValue(parsing: second.utf8)["manifest"])
            guard case .object(let members) = value else { return }
            let rewritten = JSONValue.object(members.reversed()).text
            let signature = try #require(try JSONValue(parsing: second.utf8)["signature"]).text
            #expect(try verify("{ \"signature\": \(signature), \"manifest\": \(rewritten) }") == 2)

            // Another app has another key.
            var other = app
            other.appID = "app2"
            try await other.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            let foreign = try await other.client("GET", "/definitions/kick-in/manifest").text
            #expect(throws: SignedManifest.Failure.notSigned) { try verify(foreign) }
        }
    }

    @Test("All instances sign with the same key, and its private half is stored encrypted")
    func keys() async throws {
        try await ConfigApp.run { app in
            async let one = app.service.definitionKeys.signer(of: "app1").id
            async let two = DefinitionKeyStore(postgres: app.postgres, internalSecret: ConfigApp.internalSecret).signer(
                of: "app1"
            ).id
            let (first, second) = try await (one, two)
            #expect(first == second)
            // With another internal secret the key cannot be opened: a new one is created, and the former one stays
            // known.
            let third = try await DefinitionKeyStore(postgres: app.postgres, internalSecret: Secret("another-secret"))
                .signer(of: "app1").id
            #expect(third != first)
            #expect(try await app.service.definitionKeys.signer(of: "app1").id == first)
            #expect(Set(try await DefinitionDownload.keys(of: app).byID.keys) == [first, third])
            let lengths = try await app.postgres.query("SELECT length(sealed_private_key) FROM config.definition_keys")
            #expect(try lengths.map { try $0.decode(0, as: Int32.self) } == [60, 60])
        }
    }

    @Test("Documents are imported after those they are checked against, and a refused one is named")
    func exchange() async throws {
        try await ConfigApp.run { app in
            try await app.publish(
                .translation, "1.0",
                #"{"sourceLanguage":"en","strings":{"hi":{"localizations":{"en":{"stringUnit":{"value":"Hi"}}}}}}"#)
            let definition = try DefinitionFixture.kickIn(
                #"{"views":{"EventRow":{"contents":[{"kind":"LabelView","text":{"translation":"hi"}}]}}}"#
            ).text
            try #require(try await app.publish(.definition, "kick-in", definition).status == 200)
            let exported = try await app.master("GET", "/config/export").text
            var other = app
            other.appID = "app2"
            let imported = try await other.master("POST", "/config/import?publish=true", exported)
            #expect(imported.status == 200 && imported["published.1.kind"] == #""definition""#, "\(imported)")
            #expect(try await other.client("GET", "/definitions/kick-in/manifest").status == 200)
            other.appID = "app3"
            let refused = try await other.master(
                "POST", "/config/import?publish=true",
                try await app.master("GET", "/config/export?kind=definition").text)
            #expect(
                refused.isProblem(.documentRefused) && refused["detail"]?.contains("the definition kick-in") == true,
                "\(refused)")
        }
    }

    @Test(
        "Manifests are revalidated by their tag, parts are cached for ever, compressed if useful, and kept for a while"
    )
    func caching() async throws {
        try await ConfigApp.run { app in
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            var device = DefinitionDownload(app, "kick-in")
            try await device.update()
            let manifest = try await app.client("GET", "/definitions/kick-in/manifest")
            let tag = try #require(manifest.header("etag"))
            let same = try await app.client("GET", "/definitions/kick-in/manifest", headers: ["if-none-match": tag])
            #expect(same.status == 304 && same.text == "" && manifest.header("cache-control") == "private, no-cache")
            for query in ["", "?client=1.0&capabilities=A:1"] {
                let path = "/definitions/kick-in/manifest" + query
                let (plain, packed) = (
                    try await app.client("GET", path),
                    try await app.client("GET", path, headers: ["accept-encoding": "gzip"])
                )
                #expect(
                    plain.header("content-encoding") == nil && packed.header("content-encoding") == "gzip"
                        && packed.header("etag") == plain.header("etag"))
            }

            let old = try #require(device.manifest?.parts.first { $0.path == "views/EventDetailView" })
            let path = "/definitions/kick-in/parts/\(old.sha256)"
            let part = try await app.client("GET", path)
            #expect(
                part.header("cache-control") == "private, max-age=31536000, immutable"
                    && part.header("content-encoding") == nil)
            #expect(
                try await app.client("GET", path, headers: ["accept-encoding": "gzip"]).header("content-encoding")
                    == "gzip")
            #expect(try await app.client("GET", path, headers: ["if-none-match": "\"\(old.sha256)\""]).status == 304)

            // A client with the previous manifest still finds its parts; ten versions later it does not.
            for number in 1...DefinitionEditions.availableVersions {
                let patch = #"{"views":{"EventDetailView":{"contents":{"title":{"top":\#(number)}}}}}"#
                try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn(patch).text)
            }
            #expect(
                try await app.client("GET", "/definitions/kick-in/manifest", headers: ["if-none-match": tag]).status
                    == 200)
            #expect(try await app.client("GET", path).status == 200)
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn(#"{"name":"Kick-In 2"}"#).text)
            try await app.publish(
                .definition, "kick-in",
                DefinitionFixture.kickIn(#"{"views":{"EventDetailView":{"contents":{"title":{"top":99}}}}}"#).text)
            #expect(try await app.client("GET", path).status == 200, "version 12 has it")

            try await app.master("POST", "/config/definition/kick-in/withdraw")
            #expect(try await app.client("GET", "/definitions/kick-in/manifest").isProblem(.documentNotFound))
            #expect(try await app.client("GET", path).isProblem(.documentNotFound))
        }
    }

    @Test("A part is deleted once no reachable version has it")
    func outOfReach() async throws {
        try await ConfigApp.run { app in
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            var device = DefinitionDownload(app, "kick-in")
            try await device.update()
            let old = try #require(device.manifest?.parts.first { $0.path == "views/EventRow" })
            for number in 0...DefinitionEditions.availableVersions {
                try await app.publish(
                    .definition, "kick-in", DefinitionFixture.kickIn(#"{"views":{"EventRow":{"top":\#(number)}}}"#).text
                )
            }
            #expect(
                try await app.client("GET", "/definitions/kick-in/parts/\(old.sha256)").isProblem(.documentNotFound))
        }
    }

    @Test("A new definition does not inherit parts of a deleted one with the same name")
    func madeAnew() async throws {
        try await ConfigApp.run { app in
            try await app.publish(
                .definition, "kick-in", DefinitionFixture.kickIn(#"{"views":{"EventRow":{"top":77}}}"#).text)
            var device = DefinitionDownload(app, "kick-in")
            try await device.update()
            let old = try #require(device.manifest?.parts.first { $0.path == "views/EventRow" })
            try #require(
                try await app.master("DELETE", "/config/definition/kick-in", headers: ["if-match": "*"]).status == 204)
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            #expect(try await app.client("GET", "/definitions/kick-in/manifest")["manifest.version"] == "2")
            #expect(
                try await app.client("GET", "/definitions/kick-in/parts/\(old.sha256)").isProblem(.documentNotFound))
        }
    }

    @Test("A definition with errors can be a draft but is not published, and clients keep what they have")
    func refused() async throws {
        try await ConfigApp.run { app in
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            let before = try await app.client("GET", "/definitions/kick-in/manifest").text
            let refused = try await app.publish(
                .definition, "kick-in", DefinitionFixture.kickIn(#"{"root_controller":"Nobody"}"#).text)
            #expect(refused.isProblem(.documentRefused), "\(refused)")
            #expect(
                refused["findings.0.code"] == "\"dangling-reference\""
                    && refused["findings.0.path"] == "\"/root_controller\"", "\(refused)")
            #expect(try await app.client("GET", "/definitions/kick-in/manifest").text == before)
            #expect(try await app.master("GET", "/config/definition/kick-in/versions")["data.0.version"] == "1")
            let name = try await app.master("PUT", "/config/definition/kick~in", "{}", headers: ["if-none-match": "*"])
            #expect(name.isProblem(.invalidName), "\(name)")
        }
    }

    @Test(
        "The answer lists the views with fallbacks, and an older client gets the newest version that it can show"
    )
    func capabilities() async throws {
        try await ConfigApp.run { app in
            let path = "/definitions/kick-in/manifest"
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            let map = DefinitionCheckTests.row(
                #""kind":"MapView","requires":{"MapView":2},"fallback":{"kind":"LabelView","text":"@.place"}"#)
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn(map).text)
            let fallback = try await app.client("GET", path + "?capabilities=MapView:1")
            #expect(fallback["manifest.content"] == "2" && fallback["compatible"] == "true", "\(fallback)")
            #expect(
                fallback["fallbacks"] == #"[{"kind":"MapView","path":"/views/EventRow/contents/0","version":2}]"#,
                "\(fallback)")
            #expect(try await app.client("GET", path + "?capabilities=MapView:2")["fallbacks"] == "[]")
            #expect(try await app.client("GET", path)["compatible"] == nil)

            // Version 3 is for newer clients only.
            try await app.publish(
                .definition, "kick-in", DefinitionFixture.kickIn(#"{"minClient":"2.0","requires":{"Calendar":1}}"#).text
            )
            let new = try await app.client("GET", path + "?client=2.1&capabilities=Calendar:1")
            #expect(new["manifest.content"] == "3" && new["compatible"] == "true" && new["missing"] == "[]")
            let old = try await app.client("GET", path + "?client=1.10&capabilities=Other:1")
            #expect(
                old["manifest.content"] == "2" && old["manifest.version"] == "3" && old["compatible"] == "true",
                "\(old)")
            let oldest = try await app.client("GET", path + "?client=0.9&capabilities=")
            #expect(
                oldest["manifest.content"] == "3" && oldest["compatible"] == "false"
                    && oldest["missing"] == #"["client","Calendar"]"#, "\(oldest)")
            var device = DefinitionDownload(app, "kick-in")
            #expect(try await device.update("?client=1.10&capabilities=Other:1").count == 6)

            for (query, field) in [
                ("?client=new", "client"), ("?capabilities=MapView", "capabilities"),
                ("?capabilities=a:0", "capabilities"), ("?unit=", "unit"),
                ("?colour=red", "colour"),
            ] {
                #expect(
                    try await app.client("GET", path + query).isProblem(.invalidParameter, field: field), "\(query)")
            }
        }
    }

    @Test("An invalid digest or definition name is refused, and a missing part is not found")
    func notFound() async throws {
        try await ConfigApp.run { app in
            try await app.publish(.definition, "kick-in", DefinitionFixture.kickIn)
            #expect(
                try await app.client("GET", "/definitions/kick-in/parts/abc").isProblem(.invalidID, field: "sha256"))
            #expect(
                try await app.client("GET", "/definitions/kick-in/parts/\(String(repeating: "0", count: 64))")
                    .isProblem(.documentNotFound))
            #expect(try await app.client("GET", "/definitions/nobody/manifest").isProblem(.documentNotFound))
            #expect(try await app.client("GET", "/definitions/.hidden/manifest").isProblem(.invalidName))
            var test = app
            test.environment = .test
            #expect(try await test.client("GET", "/definitions/kick-in/manifest").isProblem(.documentNotFound))
        }
    }
}
