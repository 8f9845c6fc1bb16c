import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletTesting
import Testing

@testable import StorageService

@Suite struct TransferTests {
    private func create(_ client: ServiceClient, _ length: String, path: String = "a/b.txt", extra: String = "") async throws -> Answer {
        try await client.send(
            "POST", "/files/tus", bytes: [],
            headers: [
                "tus-resumable": "1.0.0", "upload-length": length, "upload-metadata": "path \(Data(path.utf8).base64EncodedString())\(extra)",
            ])
    }

    private func patch(_ client: ServiceClient, _ location: String, at offset: Int, _ text: String) async throws -> Answer {
        try await client.send(
            "PATCH", location, bytes: Array(text.utf8),
            headers: ["tus-resumable": "1.0.0", "upload-offset": "\(offset)", "content-type": "application/offset+octet-stream"])
    }

    private func head(_ client: ServiceClient, _ location: String) async throws -> Answer {
        try await client.send("HEAD", location, bytes: nil, headers: ["tus-resumable": "1.0.0"])
    }

    private func location(_ answer: Answer) throws -> String { "/files/" + (try #require(answer.header("location"))) }

    @Test func `an upload goes on where it stopped, and becomes a file with its last byte`() async throws {
        let app = try await StorageApp()
        let created = try await create(app.client, "11")
        #expect(created.status == 201 && created.header("tus-resumable") == "1.0.0" && created.header("upload-expires") != nil, "\(created)")
        let location = try location(created)
        let first = try await patch(app.client, location, at: 0, "hello ")
        #expect(first.status == 204 && first.header("upload-offset") == "6", "\(first)")
        let state = try await head(app.client, location)
        #expect(state.status == 200 && state.header("upload-offset") == "6" && state.header("upload-length") == "11", "\(state)")
        #expect(state.header("cache-control") == "no-store")
        #expect(try await app.client.get("/upload/a/b.txt").isProblem(.fileNotFound))
        for wrong in [0, 5, 7] { #expect(try await patch(app.client, location, at: wrong, "x").isProblem(.conflict)) }
        #expect(try await patch(app.client, location, at: 6, "world").header("upload-offset") == "11")
        #expect(try await app.client.get("/upload/a/b.txt").text == "hello world")
        #expect(try await app.client.get("/upload/a/b.txt?info=true")["contentType"] == #""text/plain""#)
        #expect(try await app.client.get("/upload-history/a/b.txt")["count"] == "1")
        // A client that lost the last answer learns that all is well.
        #expect(try await head(app.client, location).header("upload-offset") == "11")
    }

    @Test func `of two requests at the same offset one counts`() async throws {
        let app = try await StorageApp()
        let location = try location(try await create(app.client, "4"))
        let statuses = await withTaskGroup(of: Int.self) { group in
            for text in ["aaaa", "bbbb"] { group.addTask { (try? await patch(app.client, location, at: 0, text).status) ?? 0 } }
            return await group.reduce(into: []) { $0.append($1) }.sorted()
        }
        #expect(statuses == [204, 409])
        #expect(["aaaa", "bbbb"].contains(try await app.client.get("/upload/a/b.txt").text))
    }

    @Test func `an empty upload is a file at once, and an upload can be given up`() async throws {
        let app = try await StorageApp()
        #expect(try await create(app.client, "0", path: "empty").status == 201)
        #expect(try await app.client.get("/upload/empty").status == 200)
        let location = try location(try await create(app.client, "5"))
        _ = try await patch(app.client, location, at: 0, "abc")
        let delete = try await app.client.send("DELETE", location, bytes: nil, headers: ["tus-resumable": "1.0.0"])
        #expect(delete.status == 204)
        #expect(try await head(app.client, location).status == 404)
        #expect(try await patch(app.client, location, at: 3, "de").isProblem(.uploadNotFound))
    }

    @Test func `what is wrong is refused and writes nothing`() async throws {
        let app = try await StorageApp()
        _ = try await app.user("ann").send("PUT", "/upload/mine?writers=ann", "1")
        for (length, path, extra, code) in [
            ("x", "a", "", ErrorCode.invalidParameter), ("-1", "a", "", .invalidParameter), ("1048577", "a", "", .payloadTooLarge),
            ("1", "../a", "", .invalidPath), ("1", "a", ",path YQ==", .invalidParameter), ("1", "a", ",b %%%", .invalidParameter),
            ("1", "mine", "", .forbidden),
        ] {
            try await app.expectRefusal(code) { try await create(app.client, length, path: path, extra: extra) }
        }
        try await app.expectRefusal(.preconditionFailed) {
            try await app.client.send("POST", "/files/tus", bytes: [], headers: ["upload-length": "1"])
        }
        let location = try location(try await create(app.client, "2"))
        try await app.expectRefusal(.unsupportedMediaType) {
            try await app.client.send("PATCH", location, bytes: [1], headers: ["tus-resumable": "1.0.0", "upload-offset": "0"])
        }
        try await app.expectRefusal(.payloadTooLarge) { try await patch(app.client, location, at: 0, "abc") }
        let others = [app.user("bob"), try await StorageApp().client]
        for other in others {
            #expect(try await head(other, location).status == 404)
            #expect(try await patch(other, location, at: 0, "ab").isProblem(.uploadNotFound))
        }
        let options = try await app.client.send("OPTIONS", "/files/tus")
        #expect(options.status == 204 && options.header("tus-extension") == "creation,termination,expiration", "\(options)")
    }

    @Test func `orphans and expired uploads are removed, what is used and what is young stays`() async throws {
        let app = try await StorageApp()
        let collection = OrphanCollection(
            postgres: app.postgres, files: FileStore(postgres: app.postgres, spaces: Spaces(postgres: app.postgres)),
            settings: SharedFiles.settings, logger: .silent)
        let schema = try app.space().schema
        func blobs() async throws -> Int { try await SharedFiles.settings.backend.list(schema, after: nil, limit: 100).count }
        _ = try await app.client.send("PUT", "/upload/kept", "1")
        _ = try await app.client.send("PUT", "/upload/replaced", "1")
        _ = try await app.client.send("PUT", "/upload/replaced", "2")
        _ = try await app.client.send("PUT", "/upload/deleted", "1")
        _ = try await app.client.delete("/upload/deleted")
        let location = try location(try await create(app.client, "9"))
        _ = try await patch(app.client, location, at: 0, "abc")
        #expect(try await blobs() == 5)
        #expect(try await collection.collect(schema: schema, at: Date()) == 0)
        #expect(try await collection.collect(schema: schema, at: Date().addingTimeInterval(86_400 - 60)) == 0)
        #expect(try await collection.collect(schema: schema, at: Date().addingTimeInterval(86_400 + 60)) == 3)
        #expect(try await blobs() == 2)
        #expect(try await head(app.client, location).status == 404)
        #expect(try await app.client.get("/upload/kept").text == "1")
        #expect(try await app.client.get("/upload/replaced").text == "2")
    }
}
