import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite struct TransferTests {
    private func create(_ client: ServiceClient, _ length: String, path: String = "a/b.txt", extra: String = "")
        async throws -> Answer
    {
        try await client.send(
            "POST", "/files/tus", bytes: [],
            headers: [
                "tus-resumable": "1.0.0", "upload-length": length,
                "upload-metadata": "path \(Data(path.utf8).base64EncodedString())\(extra)",
            ])
    }

    private func patch(_ client: ServiceClient, _ location: String, at offset: Int, _ text: String) async throws
        -> Answer
    {
        try await client.send(
            "PATCH", location, bytes: Array(text.utf8),
            headers: [
                "tus-resumable": "1.0.0", "upload-offset": "\(offset)",
                "content-type": "application/offset+octet-stream",
            ])
    }

    private func head(_ client: ServiceClient, _ location: String) async throws -> Answer {
        try await client.send("HEAD", location, bytes: nil, headers: ["tus-resumable": "1.0.0"])
    }

    private func location(_ answer: Answer) throws -> String { "/files/" + (try #require(answer.header("location"))) }

    @Test func `an upload continues where it stopped, and becomes a file with its last byte`() async throws {
        let app = try await StorageApp()
        let created = try await create(app.client, "11")
        #expect(
            created.status == 201 && created.header("tus-resumable") == "1.0.0"
                && created.header("upload-expires") != nil, "\(created)")
        let location = try location(created)
        let first = try await patch(app.client, location, at: 0, "hello ")
        #expect(first.status == 204 && first.header("upload-offset") == "6", "\(first)")
        let state = try await head(app.client, location)
        #expect(
            state.status == 200 && state.header("upload-offset") == "6" && state.header("upload-length") == "11",
            "\(state)")
        #expect(state.header("cache-control") == "no-store")
        #expect(try await app.client.get("/upload/a/b.txt").isProblem(.fileNotFound))
        for wrong in [0, 5, 7] { #expect(try await patch(app.client, location, at: wrong, "x").isProblem(.conflict)) }
        #expect(try await patch(app.client, location, at: 6, "world").header("upload-offset") == "11")
        #expect(try await app.client.get("/upload/a/b.txt").text == "hello world")
        #expect(try await app.client.get("/upload/a/b.txt?info=true")["contentType"] == #""text/plain""#)
        #expect(try await app.client.get("/upload-history/a/b.txt")["count"] == "1")
        // A client that lost the last response learns that the upload is complete.
        #expect(try await head(app.client, location).header("upload-offset") == "11")
    }

    @Test func `only one of two requests at the same offset is accepted`() async throws {
        let app = try await StorageApp()
        let location = try location(try await create(app.client, "4"))
        let statuses = await withTaskGroup(of: Int.self) { group in
            for text in ["aaaa", "bbbb"] {
                group.addTask { (try? await patch(app.client, location, at: 0, text).status) ?? 0 }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted()
        }
        #expect(statuses == [204, 409])
        #expect(["aaaa", "bbbb"].contains(try await app.client.get("/upload/a/b.txt").text))
    }

    @Test func `an empty upload is a file at once, and an upload can be cancelled`() async throws {
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

    @Test func `a client that can only send POST names the method in a header`() async throws {
        let app = try await StorageApp()
        let location = try location(try await create(app.client, "5"))
        func post(_ method: String?, _ headers: [String: String] = [:]) async throws -> Answer {
            var headers = headers
            headers["tus-resumable"] = "1.0.0"
            headers["x-http-method-override"] = method
            return try await app.client.send("POST", location, "abc", headers: headers)
        }
        let part = ["upload-offset": "0", "content-type": "application/offset+octet-stream"]
        for method in [nil, "PUT", "patch"] {
            try await app.expectRefusal(.invalidParameter, field: "X-HTTP-Method-Override") {
                try await post(method, part)
            }
        }
        try await app.expectRefusal(.unsupportedMediaType) { try await post("PATCH", ["upload-offset": "0"]) }
        let arrived = try await post("PATCH", part)
        #expect(arrived.status == 204 && arrived.header("upload-offset") == "3", "\(arrived)")
        #expect(try await post("PATCH", part).isProblem(.conflict))
        #expect(try await head(app.client, location).header("upload-offset") == "3")
        #expect(try await post("DELETE").status == 204)
        #expect(try await post("PATCH", part).isProblem(.uploadNotFound))
    }

    @Test func `invalid requests are refused, and nothing is written`() async throws {
        let app = try await StorageApp()
        _ = try await app.user("ann").send("PUT", "/upload/mine?writers=ann", "1")
        for (length, path, extra, code) in [
            ("x", "a", "", ErrorCode.invalidParameter), ("-1", "a", "", .invalidParameter),
            ("1048577", "a", "", .payloadTooLarge),
            ("1", "../a", "", .invalidPath), ("1", "a", ",path YQ==", .invalidParameter),
            ("1", "a", ",b %%%", .invalidParameter),
            ("1", "mine", "", .forbidden), ("1", "a\0", "", .invalidParameter),
            ("1", "a", ",filetype \(Data("text/plain\0".utf8).base64EncodedString())", .invalidParameter),
            ("1", "a", ",readers \(Data("a\n".utf8).base64EncodedString())", .invalidParameter),
        ] {
            try await app.expectRefusal(code) { try await create(app.client, length, path: path, extra: extra) }
        }
        try await app.expectRefusal(.preconditionFailed) {
            try await app.client.send("POST", "/files/tus", bytes: [], headers: ["upload-length": "1"])
        }
        let location = try location(try await create(app.client, "2"))
        try await app.expectRefusal(.unsupportedMediaType) {
            try await app.client.send(
                "PATCH", location, bytes: [1], headers: ["tus-resumable": "1.0.0", "upload-offset": "0"])
        }
        try await app.expectRefusal(.payloadTooLarge) { try await patch(app.client, location, at: 0, "abc") }
        let others = [app.user("bob"), app.neighbour().client]
        for other in others {
            #expect(try await head(other, location).status == 404)
            #expect(try await patch(other, location, at: 0, "ab").isProblem(.uploadNotFound))
        }
        let options = try await app.client.send("OPTIONS", "/files/tus")
        #expect(
            options.status == 204 && options.header("tus-extension") == "creation,termination,expiration", "\(options)")
    }

    @Test func `an upload arrives in a limited number of parts, and the number of open uploads is limited`()
        async throws
    {
        let app = try await StorageApp()
        let ann = app.user("ann")
        let location = try location(try await create(ann, "1001"))
        let id = location.split(separator: "/").last.map(String.init)
        try await app.superuser.execute(
            """
            INSERT INTO \(app.space().own("_transfer_parts")) (transfer, start, size, blob)
            SELECT \(id), n, 1, md5(n::text) FROM generate_series(0, 998) AS n
            """)
        #expect(try await patch(ann, location, at: 999, "x").status == 204)
        try await app.expectRefusal(.limitExceeded) { try await patch(ann, location, at: 1_000, "x") }

        try await app.superuser.execute(
            """
            INSERT INTO \(app.space().own("_transfers")) (id, path, size, sets_readers, sets_writers, uploader, expires)
            SELECT n::text, 'x', 1, FALSE, FALSE, 'ann', now() + interval '1 hour' FROM generate_series(2, 100) AS n
            """)
        try await app.expectRefusal(.limitExceeded) { try await create(ann, "1") }
        #expect(try await create(app.user("bob"), "1").status == 201)
        try await app.superuser.execute("UPDATE \(app.space().own("_transfers")) SET is_finished = TRUE WHERE id = '2'")
        #expect(try await create(ann, "1").status == 201)
    }

    @Test func `unfinished uploads without a user are counted by address, and leave room for users`()
        async throws
    {
        let app = try await StorageApp()
        func begin(_ address: String) async throws -> Answer {
            try await app.client.send(
                "POST", "/files/tus", bytes: [],
                headers: [
                    "tus-resumable": "1.0.0", "upload-length": "1", HeaderName.address: address,
                    "upload-metadata": "path \(Data("a".utf8).base64EncodedString())",
                ])
        }
        func fill(_ count: Int, like id: String) async throws {
            try await app.superuser.execute(
                """
                INSERT INTO \(app.space().own("_transfers")) (id, path, size, sets_readers, sets_writers, origin, expires)
                SELECT gen_random_uuid()::text, 'x', 1, FALSE, FALSE, coalesce(origin, 'other'), now() + interval '1 hour'
                FROM generate_series(1, \(count)), (SELECT max(origin) AS origin FROM \(app.space().own("_transfers")) WHERE id = \(id)) AS one
                """)
        }
        let first = try location(try await begin("192.0.2.1")).split(separator: "/").last.map(String.init) ?? ""
        try await fill(98, like: first)
        #expect(try await begin("192.0.2.1").status == 201)
        try await app.expectRefusal(.limitExceeded) { try await begin("192.0.2.1") }
        #expect(try await begin("192.0.2.2").status == 201)
        try await fill(398, like: "none")
        #expect(try await begin("192.0.2.3").status == 201)
        try await app.expectRefusal(.limitExceeded) { try await begin("192.0.2.4") }
        #expect(try await create(app.user("ann"), "1").status == 201)
        #expect(try await create(app.master, "1").status == 201)
        let stored = try await app.everything()["_transfers"] ?? ""
        #expect(!stored.contains("192.0.2"), "addresses are not kept")
    }

    @Test func `a file belongs to the user who began its upload, whoever sends the last bytes`() async throws {
        let app = try await StorageApp()
        let first = try location(try await create(app.user("ann"), "2", path: "ann"))
        #expect(try await patch(app.master, first, at: 0, "12").status == 204)
        #expect(try await app.client.get("/upload/ann?info=true")["owner"] == #""ann""#)
        #expect(try await app.client.get("/upload-history/ann")["data.0.uploader"] == #""ann""#)

        let second = try location(try await create(app.user("ann"), "2", path: "bob"))
        _ = try await app.user("bob").send("PUT", "/upload/bob?writers=bob", "of bob")
        #expect(try await patch(app.master, second, at: 0, "12").isProblem(.forbidden))
        #expect(try await head(app.master, second).status == 403)
        #expect(try await app.client.get("/upload/bob").text == "of bob")

        // An upload that the server begins without a user can be continued only by the server.
        let third = try location(try await create(app.master, "2", path: "bob"))
        for other in [app.client, app.user("ann")] {
            #expect(try await patch(other, third, at: 0, "12").isProblem(.uploadNotFound))
            #expect(try await head(other, third).status == 404)
        }
        #expect(try await patch(app.master, third, at: 0, "12").status == 204)
        #expect(try await app.client.get("/upload/bob").text == "12")
    }
}
