import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct VersionNumberTests {
    /// In ascending order; the pre-releases of 1.0.0 are the example of Semantic Versioning 2.0.0 §11.
    static let ascending = [
        "0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
        "1.0.0-rc.1", "1.0.0", "1.0.0.1",
        "1.0.1-1", "1.0.1", "1.2", "1.9", "1.9.9", "1.10", "1.10.1", "2-0", "2", "10", "2026.11.22",
        "202611221200",
    ]

    @Test func `version numbers are sorted by component`() throws {
        let keys = try Self.ascending.map { try #require(VersionNumber($0)).sortKey }
        for (left, right) in zip(keys, keys.dropFirst()) {
            #expect(Array(left.utf8).lexicographicallyPrecedes(Array(right.utf8)), "\(left) \(right)")
        }
    }

    @Test func `missing components are zero`() throws {
        #expect(VersionNumber("1")?.sortKey == VersionNumber("1.0.0.0")?.sortKey)
        #expect(VersionNumber("1.0-rc.1")?.sortKey == VersionNumber("1.0.0-rc.1")?.sortKey)
    }

    @Test(arguments: [
        "", ".", "1.", ".1", "1..2", "01", "1.02", "v1", "1.0-", "1.0-a..b", "1.0-01", "1.0-ä", "1.2.3.4.5",
        "1234567890123", "1 0", "1.0+build", "-1", "１.0", "1.0-\(String(repeating: "a", count: 70))",
    ])
    func `invalid version numbers are refused`(_ text: String) {
        #expect(VersionNumber(text) == nil)
    }

    @Test(arguments: [
        ("EN", "en"), ("pt-br", "pt-BR"), ("zh-hant-tw", "zh-Hant-TW"), ("es-419", "es-419"),
        ("de-CH-1996", "de-CH-1996"), ("en-a-BB", "en-a-bb"),
    ])
    func `language tags are written as RFC 5646 recommends`(_ text: String, _ spelled: String) {
        #expect(LanguageTag(text)?.text == spelled)
    }

    @Test(arguments: [
        "", "e", "en_US", "en-", "-en", "12", "en-123456789", "english-language-tag-that-is-too-long-x", "en-a", "ä",
    ])
    func `invalid language tags are refused`(_ text: String) {
        #expect(LanguageTag(text) == nil)
    }
}

@Suite(.serialized) struct VersionTests {
    @Test func `versions are listed newest first, 1.10 before 1.9`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let other = try await apps.make("Other")
            #expect(try await apps.send("POST", "/\(other)/versions", #"{"number":"7"}"#).status == 201)
            for number in ["1.9", "1.10", "1.2", "1.10-beta.2", "1.10-beta.11", "0.1"] {
                #expect(try await apps.send("POST", "/\(id)/versions", #"{"number":"\#(number)"}"#).status == 201)
            }
            let sorted = ["1.10", "1.10-beta.11", "1.10-beta.2", "1.9", "1.2", "0.1"]
            #expect(try await apps.send("GET", "/\(id)/versions").all("number") == sorted)
            let page = try await apps.send("GET", "/\(id)/versions?limit=4")
            #expect(page.all("number") == Array(sorted.prefix(4)) && page.string("next") == "1.9")
            #expect(
                try await apps.send("GET", "/\(id)/versions?limit=4&after=1.9").all("number") == Array(sorted.suffix(2))
            )
            #expect(try await apps.send("GET", "/\(id)/versions?after=x").isProblem(.invalidParameter, field: "after"))
        }
    }

    @Test func `a version is created, changed and deleted, and the audit log keeps its contents`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let made = try await apps.send(
                "POST", "/\(id)/versions",
                #"{"number":"2.0","build":"418","notes":{"EN":"Faster.","pt-br":"Mais rápido."}}"#)
            #expect(
                made.status == 201 && made.string("state") == "planned" && made["releaseDate"] == "null"
                    && made["pictures"] == "[]", "\(made)")
            #expect(made.string("notes.en") == "Faster." && made.string("notes.pt-BR") == "Mais rápido.")
            #expect(
                try await apps.send("POST", "/\(id)/versions", #"{"number":"2.0.0"}"#).isProblem(
                    .conflict, field: "number"), "2.0 and 2.0.0 are the same version")
            let released = try await apps.send("PATCH", "/\(id)/versions/2.0", #"{"state":"released"}"#)
            #expect(released.string("state") == "released" && released.string("build") == "418")
            #expect(released.string("releaseDate")?.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) != nil)
            let dated = try await apps.send(
                "PATCH", "/\(id)/versions/2.0", #"{"releaseDate":"2024-02-29","notes":{"de":"Schneller."}}"#)
            #expect(
                dated.string("releaseDate") == "2024-02-29" && dated.string("notes.de") == "Schneller."
                    && dated["notes.en"] == nil)
            let renamed = try await apps.send(
                "PATCH", "/\(id)/versions/2.0.0", #"{"number":"2.0.1","releaseDate":null}"#)
            #expect(renamed.string("number") == "2.0.1" && renamed["releaseDate"] == "null")
            #expect(try await apps.send("GET", "/\(id)/versions/2.0").isProblem(.versionNotFound))
            #expect(try await apps.send("POST", "/\(id)/versions", #"{"number":"3"}"#).status == 201)
            #expect(
                try await apps.send("PATCH", "/\(id)/versions/3", #"{"number":"2.0.1"}"#).isProblem(
                    .conflict, field: "number"))
            #expect(try await apps.send("DELETE", "/\(id)/versions/2.0.1").status == 204)
            #expect(try await apps.send("DELETE", "/\(id)/versions/2.0.1").isProblem(.versionNotFound))
            #expect(try await apps.send("PATCH", "/\(id)/versions/nonsense", "{}").isProblem(.versionNotFound))
            // `b` and `a`: the entry has the contents before and after.
            #expect(
                try await apps.audit().dropFirst() == [
                    "ada create-version - a", "ada update-version b a", "ada update-version b a",
                    "ada update-version b a", "ada create-version - a",
                    "ada delete-version b -",
                ])
        }
    }

    @Test(arguments: [
        (#"{}"#, "number"), (#"{"number":"x"}"#, "number"), (#"{"number":1}"#, "number"),
        (#"{"number":"1","state":"shipped"}"#, "state"),
        (#"{"number":"1","releaseDate":"2026-02-30"}"#, "releaseDate"),
        (#"{"number":"1","releaseDate":"22.11.2026"}"#, "releaseDate"),
        (#"{"number":"1","releaseDate":"0000-01-01"}"#, "releaseDate"),
        (#"{"number":"1","build":"\#(String(repeating: "b", count: 65))"}"#, "build"),
        (#"{"number":"1","notes":"text"}"#, "notes"), (#"{"number":"1","notes":{"english!":"x"}}"#, "notes.english!"),
        (#"{"number":"1","notes":{"en":1}}"#, "notes.en"), (#"{"number":"1","notes":{"en":"x","EN":"y"}}"#, "notes.EN"),
        (#"{"number":"1","notes":{"en":"\#(String(repeating: "x", count: 4_001))"}}"#, "notes.en"),
        (#"{"number":"1","pictures":[]}"#, "pictures"),
    ])
    func `invalid fields are refused by name, and nothing is created`(_ body: String, _ field: String) async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let before = try await apps.state()
            let answer = try await apps.send("POST", "/\(id)/versions", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await apps.state() == before)
        }
    }

    @Test func `pictures keep the order that staff give them, and are deleted with their version`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            let path = "/\(id)/versions/1.0/pictures"
            #expect(try await apps.send("POST", path, bytes: SamplePicture.png).isProblem(.versionNotFound))
            for number in ["1.0", "2.0"] {
                #expect(try await apps.send("POST", "/\(id)/versions", #"{"number":"\#(number)"}"#).status == 201)
            }
            var ids: [String] = []
            for (bytes, type) in [
                (SamplePicture.png, "image/png"), (SamplePicture.jpeg, "image/jpeg"),
                (SamplePicture.webp, "image/webp"),
            ] {
                let added = try await apps.send("POST", path, bytes: bytes)
                #expect(added.status == 201 && added.string("contentType") == type, "\(added)")
                ids.append(try #require(added.string("id")))
            }
            func order() async throws -> [String] {
                let version = try await apps.send("GET", "/\(id)/versions/1.0")
                return (0..<3).compactMap { version.string("pictures.\($0).id") }
            }
            #expect(try await order() == ids)
            let turned = [ids[2], ids[0], ids[1]]
            #expect(
                try await apps.send("PUT", path, #"{"pictures":["\#(turned.joined(separator: "\",\""))"]}"#).status
                    == 200)
            #expect(try await order() == turned)
            let before = try await apps.state()
            for wrong in [
                [ids[0], ids[1]], [ids[0], ids[1], UUID().uuidString], [ids[0], ids[0], ids[1]], ["x", ids[0], ids[1]],
            ] {
                let answer = try await apps.send("PUT", path, #"{"pictures":["\#(wrong.joined(separator: "\",\""))"]}"#)
                #expect(answer.isProblem(.invalidBody, field: "pictures"), "\(answer)")
            }
            for bytes in [SamplePicture.gif, SamplePicture.svg] {
                #expect(try await apps.send("POST", path, bytes: bytes).isProblem(.unsupportedMediaType))
            }
            #expect(
                try await apps.send("POST", path, bytes: SamplePicture.png + [UInt8](repeating: 0, count: 4 << 20))
                    .isProblem(.payloadTooLarge))
            #expect(try await apps.state() == before)
            let picture = try await apps.send("GET", "\(path)/\(ids[1])")
            #expect(
                picture.header("content-type") == "image/jpeg" && picture.header("x-content-type-options") == "nosniff")
            #expect(
                try await apps.send("GET", "/\(id)/versions/2.0/pictures/\(ids[1])").isProblem(.pictureNotFound),
                "a picture of another version is not found")
            #expect(try await apps.send("DELETE", "/\(id)/versions/2.0/pictures/\(ids[1])").isProblem(.pictureNotFound))
            #expect(try await apps.send("DELETE", "\(path)/\(ids[1])").status == 204)
            #expect(try await order() == [ids[2], ids[0]])
            #expect(try await apps.send("DELETE", "/\(id)/versions/1.0").status == 204)
            let left: Int = try await apps.auth.postgres.query("SELECT count(*) FROM auth.version_pictures")[0].decode(
                0)
            #expect(left == 0)
        }
    }

    @Test func `the number of pictures is limited, even for concurrent uploads`() async throws {
        try await StaffApps.run { apps in
            let id = try await apps.make()
            #expect(try await apps.send("POST", "/\(id)/versions", #"{"number":"1.0"}"#).status == 201)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<(PictureStore.maximumPicturesPerVersion + 4) {
                    group.addTask {
                        try await apps.send("POST", "/\(id)/versions/1.0/pictures", bytes: SamplePicture.png).status
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(
                statuses.filter { $0 == 201 }.count == PictureStore.maximumPicturesPerVersion
                    && statuses.filter { $0 == 400 }.count == 4, "\(statuses)")
        }
    }
}
