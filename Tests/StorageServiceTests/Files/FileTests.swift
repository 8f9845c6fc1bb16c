import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletTesting
import Testing

@testable import StorageService

@Suite struct FileTests {
    @Test func `a file is uploaded, read, replaced, listed and deleted, and its history stays`() async throws {
        let app = try await StorageApp()
        let made = try await app.client.send("PUT", "/upload/trips/rome.txt", "hello")
        #expect(made.status == 201 && made["path"] == #""trips/rome.txt""# && made["name"] == #""rome.txt""#, "\(made)")
        #expect(
            made["size"] == "5" && made["contentType"] == #""text/plain""# && made["_version"] == "1"
                && made["_readers"] == nil)
        #expect(made["sha256"] == #""2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824""#)
        let read = try await app.client.get("/upload/trips/rome.txt")
        #expect(
            read.status == 200 && read.text == "hello" && read.header("content-type") == "text/plain; charset=utf-8",
            "\(read)")
        #expect(read.header("accept-ranges") == "bytes" && read.header("content-length") == "5")
        #expect(read.header("etag") == #""2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824""#)
        let head = try await app.client.send("HEAD", "/upload/trips/rome.txt")
        #expect(head.status == 200 && head.text.isEmpty && head.header("content-length") == "5")

        let replaced = try await app.client.send("PUT", "/upload/trips/rome.txt", "hello again")
        #expect(
            replaced.status == 200 && replaced["_version"] == "2" && replaced["created"] == made["created"],
            "\(replaced)")
        #expect(try await app.client.get("/upload/trips/rome.txt").text == "hello again")
        #expect(try await app.client.get("/upload/trips/rome.txt?info=true").text == replaced.text)

        #expect(try await app.client.delete("/upload/trips/rome.txt").status == 204)
        #expect(try await app.client.get("/upload/trips/rome.txt").isProblem(.fileNotFound))
        #expect(try await app.client.delete("/upload/trips/rome.txt").isProblem(.fileNotFound))
        for path in ["trips/rome.txt", "trips/", ""] {
            let history = try await app.client.get("/upload-history/" + path)
            #expect(
                history["count"] == "2" && history["data.0._version"] == "2" && history["data.1.size"] == "5",
                "\(history)")
        }
        let page = try await app.client.get("/upload-history/trips/?limit=1")
        #expect(page["count"] == "1")
        let before = try #require(page["next"]).filter(\.isNumber)
        #expect(try await app.client.get("/upload-history/trips/?limit=1&before=\(before)")["data.0._version"] == "1")
    }

    @Test func `a file is created in a directory by name, by path or as multipart/form-data`() async throws {
        let app = try await StorageApp()
        #expect(try await app.client.post("/upload/a/b/?name=c.txt", "1")["path"] == #""a/b/c.txt""#)
        #expect(try await app.client.post("/upload/a/b/d.txt", "2")["path"] == #""a/b/d.txt""#)
        #expect(try await app.client.post("/upload?name=e.txt", "3")["path"] == #""e.txt""#)
        let boundary = "----x"
        let body =
            "------x\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhi\r\n------x\r\n"
            + "Content-Disposition: form-data; name=\"file\"; filename=\"C:\\\\x\\\\f 1.txt\"\r\nContent-Type: text/csv\r\n\r\n"
            + "a,b\r\n--not the end\r\n1,2\r\n------x--\r\nepilogue"
        let posted = try await app.client.send(
            "POST", "/upload/a/", bytes: Array(body.utf8),
            headers: ["content-type": "multipart/form-data; boundary=\"\(boundary)\""])
        #expect(
            posted.status == 201 && posted["path"] == #""a/f 1.txt""# && posted["contentType"] == #""text/csv""#,
            "\(posted)")
        #expect(try await app.client.get("/upload/a/f%201.txt").text == "a,b\r\n--not the end\r\n1,2")
        let list = try await app.client.get("/upload/a/")
        #expect(
            list["count"] == "2" && list["data.0.name"] == #""b""# && list["data.0.isDirectory"] == "true", "\(list)")
        #expect(list["data.1.name"] == #""f 1.txt""# && list["next"] == "null")
        let root = try await app.client.get("/upload")
        #expect(
            root["count"] == "2" && root["data.0.path"] == #""a/""# && root["data.1.path"] == #""e.txt""#, "\(root)")
    }

    static let brokenMultipart = [
        "", "x", "--b\r\n", "--b--\r\n", "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; filename=\"f\"\r\n\r\nx",
        "--b\r\nContent-Disposition: form-data; filename=\"f\"\r\n\r\nx\r\n--b",
        "--b\r\nContent-Disposition: form-data; filename=\"f\"\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; filename=\"g\"\r\n\r\ny\r\n--b--",
        "--b\r\nno colon\r\n\r\nx\r\n--b--", "--b\r\nContent-Disposition: attachment; filename=\"f\"\r\n\r\nx\r\n--b--",
    ]

    @Test(arguments: brokenMultipart)
    func `a malformed multipart body stores nothing`(_ body: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.get("/upload")
        try await app.expectRefusal(.invalidBody) {
            try await app.client.send(
                "POST", "/upload/", bytes: Array(body.utf8),
                headers: ["content-type": "multipart/form-data; boundary=b"])
        }
    }

    @Test func `a directory is listed in pages, at any depth`() async throws {
        let app = try await StorageApp()
        for path in ["d/a", "d/b/x", "d/b/y/z", "d/b.txt", "d/c", "d/%C3%BC/1", "e/x"] {
            #expect(try await app.client.send("PUT", "/upload/\(path)", "1").status == 201)
        }
        var (names, cursor) = ([String](), String?.none)
        repeat {
            let page = try await app.client.get("/upload/d/?limit=2" + (cursor.map { "&after=\($0)" } ?? ""))
            for index in 0..<2 { if let name = page["data.\(index).name"] { names.append(name) } }
            cursor = page["next"].flatMap { $0 == "null" ? nil : String($0.dropFirst().dropLast()) }?
                .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        } while cursor != nil
        #expect(names == [#""a""#, #""b.txt""#, #""b""#, #""c""#, #""ü""#], "\(names)")
    }

    struct RangeCase: Sendable {
        var range: String
        var status: Int
        var text: String
        var contentRange: String?
    }

    static let ranges = [
        RangeCase(range: "bytes=0-0", status: 206, text: "0", contentRange: "bytes 0-0/10"),
        RangeCase(range: "bytes=2-4", status: 206, text: "234", contentRange: "bytes 2-4/10"),
        RangeCase(range: "bytes=8-99", status: 206, text: "89", contentRange: "bytes 8-9/10"),
        RangeCase(range: "bytes=5-", status: 206, text: "56789", contentRange: "bytes 5-9/10"),
        RangeCase(range: "bytes=-3", status: 206, text: "789", contentRange: "bytes 7-9/10"),
        RangeCase(range: "bytes=-99", status: 206, text: "0123456789", contentRange: "bytes 0-9/10"),
        RangeCase(range: "bytes=10-", status: 416, text: "", contentRange: "bytes */10"),
        RangeCase(range: "bytes=-0", status: 416, text: "", contentRange: "bytes */10"),
        // Anything but a single valid range is ignored.
        RangeCase(range: "bytes=0-0,2-2", status: 200, text: "0123456789"),
        RangeCase(
            range: "bytes=" + (0..<1_000).map { "\($0)-" }.joined(separator: ","), status: 200, text: "0123456789"),
        RangeCase(range: "bytes=4-2", status: 200, text: "0123456789"),
        RangeCase(range: "bytes=-", status: 200, text: "0123456789"),
        RangeCase(range: "bytes=99999999999999999999-", status: 200, text: "0123456789"),
        RangeCase(range: "bytes=+1-2", status: 200, text: "0123456789"),
        RangeCase(range: "lines=1-2", status: 200, text: "0123456789"),
    ]

    @Test(arguments: ranges)
    func `a request for a range gets that part of a file`(_ example: RangeCase) async throws {
        let app = try await StorageApp()
        _ = try await app.client.send("PUT", "/upload/f", "0123456789")
        let answer = try await app.client.send("GET", "/upload/f", bytes: nil, headers: ["range": example.range])
        #expect(answer.status == example.status && answer.header("content-range") == example.contentRange, "\(answer)")
        if example.status != 416 { #expect(answer.text == example.text) }
    }

    @Test func `a read with If-Match gets the version it names or 412, before other conditions are checked`()
        async throws
    {
        let app = try await StorageApp()
        let tag = try #require(try await app.client.send("PUT", "/upload/f", "1234")["sha256"])
        let link = try #require(try await app.client.post("/upload-link/f", "{}").json?["path"]).text.filter {
            $0 != "\""
        }
        for path in ["/upload/f", "/\(link)"] {
            for (headers, status) in [
                (["if-match": tag], 200), (["if-match": "*"], 200), (["if-match": "\"x\", \(tag)"], 200),
                (["if-match": "\"x\""], 412),
                (["if-match": "W/\(tag)"], 412), (["if-match": "\"x\"", "if-none-match": tag], 412),
                (["if-match": tag, "if-none-match": tag], 304),
                (["if-match": "\"x\"", "range": "bytes=9-"], 412), (["if-match": tag, "range": "bytes=9-"], 416),
                (["if-match": tag, "range": "bytes=1-2"], 206),
                (["if-unmodified-since": "Thu, 01 Jan 1970 00:00:00 GMT"], 200),
                (["range": "bytes=1-2", "if-range": "Thu, 01 Jan 2099 00:00:00 GMT"], 200),
                (["range": "bytes=1-2", "if-range": "W/\(tag)"], 200),
                (["range": "bytes=1-2", "if-range": tag], 206), (["if-match": "x"], 400),
            ] {
                let answer = try await app.client.send("GET", path, bytes: nil, headers: headers)
                #expect(answer.status == status, "\(headers) \(answer)")
                if status == 412 { #expect(answer.isProblem(.preconditionFailed)) }
            }
        }
    }

    @Test func `an unchanged file is not sent again, and one changed meanwhile is not overwritten`() async throws {
        let app = try await StorageApp()
        let tag = try #require(try await app.client.send("PUT", "/upload/f", "1")["sha256"])
        let same = try await app.client.send(
            "GET", "/upload/f", bytes: nil, headers: ["if-none-match": "\"x\", \(tag)"])
        #expect(same.status == 304 && same.text.isEmpty && same.header("etag") == tag)
        #expect(
            try await app.client.send(
                "GET", "/upload/f", bytes: nil, headers: ["range": "bytes=0-0", "if-range": "\"x\""]
            ).status == 200)
        for headers in [["if-none-match": "*"], ["if-match": "\"x\""]] {
            try await app.expectRefusal(.preconditionFailed) {
                try await app.client.send("PUT", "/upload/f", bytes: Array("2".utf8), headers: headers)
            }
        }
        try await app.expectRefusal(.preconditionFailed) {
            try await app.client.send("PUT", "/upload/g", bytes: Array("2".utf8), headers: ["if-match": "*"])
        }
        try await app.expectRefusal(.preconditionFailed) {
            try await app.client.send("DELETE", "/upload/f", bytes: nil, headers: ["if-match": "\"x\""])
        }
        #expect(
            try await app.client.send("PUT", "/upload/f", bytes: Array("2".utf8), headers: ["if-match": tag]).status
                == 200)
    }

    static let badPaths = [
        "..", "a/../b", "%2e%2e/etc/passwd", "a/%2e%2e%2fb", "a//b", ".", "a/./b", "a%00b", "a%0Ab", "a%5Cb",
        "%2Fetc%2Fpasswd", "%ff", "%zz",
        "a%E2%80%AEgpj.exe", "a%E2%80%8Bb", "%20a", "a%20", "a%E2%80%A8b", String(repeating: "a", count: 256),
        Array(repeating: "a", count: 33).joined(separator: "/"),
        Array(repeating: String(repeating: "a", count: 200), count: 6).joined(separator: "/"),
    ]

    @Test(arguments: badPaths)
    func `an invalid path reaches nothing`(_ path: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.get("/upload")
        for method in ["PUT", "DELETE", "GET"] {
            try await app.expectRefusal(.invalidPath, field: "path") {
                try await app.client.send(method, "/upload/" + path, method == "PUT" ? "x" : nil)
            }
        }
        let blobs =
            (try? FileManager.default.subpathsOfDirectory(atPath: SharedFiles.directory + "/" + app.space().schema))
            ?? []
        #expect(blobs.filter { $0.utf8.count > 30 } == [])
    }

    @Test func `names in different Unicode forms are one file`() async throws {
        let app = try await StorageApp()
        #expect(try await app.client.send("PUT", "/upload/u%CC%88", "decomposed").status == 201)
        #expect(try await app.client.send("PUT", "/upload/%C3%BC", "composed").status == 200)
        #expect(try await app.client.get("/upload/u%CC%88").text == "composed")
    }

    @Test func `markup is never served as a page, whatever it is called`() async throws {
        let app = try await StorageApp()
        for (text, name) in [
            ("<html><script>alert(1)</script>", "a.png"), ("<svg onload='x()'/>", "a.jpg"),
            ("<?xml version='1.0'?><x/>", "a.txt"),
        ] {
            _ = try await app.client.send(
                "PUT", "/upload/" + name, bytes: Array(text.utf8), headers: ["content-type": "image/png"])
            let answer = try await app.client.get("/upload/" + name)
            #expect(answer.header("content-disposition")?.hasPrefix("attachment") == true, "\(name)")
            #expect(answer.header("x-content-type-options") == "nosniff")
            #expect(answer.header("content-security-policy")?.contains("sandbox") == true)
        }
        _ = try await app.client.send("PUT", "/upload/%22%0d".replacing("%0d", with: ";x=.txt"), "x")
        let answer = try await app.client.get("/upload/%22;x=.txt")
        #expect(answer.header("content-disposition") == "inline; filename*=UTF-8''%22%3Bx%3D.txt", "\(answer)")
    }

    @Test func `a file beyond the limit is refused and leaves nothing`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.get("/upload")
        let large = [UInt8](repeating: 1, count: (1 << 20) + 1)
        try await app.expectRefusal(.payloadTooLarge) { try await app.client.send("PUT", "/upload/f", bytes: large) }
        let left =
            (try? FileManager.default.subpathsOfDirectory(atPath: SharedFiles.directory + "/" + app.space().schema))
            ?? []
        #expect(left.filter { $0.utf8.count > 30 } == [])
        #expect(try await app.client.send("PUT", "/upload/f", bytes: Array(large.dropLast())).status == 201)
        #expect(try await app.client.send("PUT", "/upload/empty", bytes: []).status == 201)
        #expect(try await app.client.get("/upload/empty").text.isEmpty)
    }

    @Test func `readers and writers apply to reading, listing, history, changing and deleting`() async throws {
        let app = try await StorageApp()
        let (ann, bob) = (app.user("ann"), app.user("bob"))
        let made = try await ann.send("PUT", "/upload/p/secret.txt?readers=ann&writers=ann", "secret")
        #expect(made.status == 201 && made["owner"] == #""ann""# && made["_readers"] == #"["ann"]"#, "\(made)")
        #expect(try await ann.send("PUT", "/upload/p/shown.txt?writers=ann", "shown").status == 201)
        for other in [bob, app.client] {
            try await app.expectRefusal(.fileNotFound) { try await other.get("/upload/p/secret.txt") }
            try await app.expectRefusal(.fileNotFound) { try await other.get("/upload/p/secret.txt?info=true") }
            try await app.expectRefusal(.fileNotFound) { try await other.get("/upload/p/secret.txt?thumbnail=small") }
            try await app.expectRefusal(.fileNotFound) { try await other.delete("/upload/p/secret.txt") }
            try await app.expectRefusal(.fileNotFound) {
                try await other.patch("/upload/p/secret.txt", #"{"_readers":["*"]}"#)
            }
            try await app.expectRefusal(.fileNotFound) { try await other.post("/upload-link/p/secret.txt", "{}") }
            try await app.expectRefusal(.forbidden) { try await other.send("PUT", "/upload/p/secret.txt", "mine") }
            #expect(try await other.get("/upload/p/")["count"] == "1")
            #expect(try await other.get("/upload-history/p/")["count"] == "1")
            #expect(try await other.get("/upload/p/shown.txt").text == "shown")
            try await app.expectRefusal(.forbidden) { try await other.send("PUT", "/upload/p/shown.txt", "mine") }
            try await app.expectRefusal(.forbidden) { try await other.delete("/upload/p/shown.txt") }
            try await app.expectRefusal(.forbidden) {
                try await other.patch("/upload/p/shown.txt", #"{"_writers":["*"]}"#)
            }
        }
        #expect(try await ann.get("/upload/p/secret.txt").text == "secret")
        #expect(try await app.master.get("/upload/p/secret.txt").text == "secret")
        // Replacing keeps readers and writers.
        #expect(try await ann.send("PUT", "/upload/p/secret.txt", "secret 2")["_readers"] == #"["ann"]"#)
        #expect(try await ann.patch("/upload/p/secret.txt", #"{"_readers":["ann","bob"]}"#).status == 200)
        #expect(try await bob.get("/upload/p/secret.txt").text == "secret 2")
        try await app.expectRefusal(.forbidden) { try await bob.delete("/upload/p/secret.txt") }
        try await app.expectRefusal(.invalidBody, field: "readers") {
            try await ann.send("PUT", "/upload/x?readers=role:%2F", "1")
        }
    }

    @Test(arguments: [true, false])
    func `the history of a file has the file's readers, even after its deletion`(_ byUpload: Bool) async throws {
        let app = try await StorageApp()
        let (ann, bob) = (app.user("ann"), app.user("bob"))
        func counts() async throws -> [String?] {
            var counts: [String?] = []
            for user in [ann, bob] {
                for target in ["p/f", "p/"] { counts.append(try await user.get("/upload-history/" + target)["count"]) }
            }
            return counts
        }
        _ = try await ann.send("PUT", "/upload/p/f", "1")
        #expect(try await counts() == ["1", "1", "1", "1"])
        if byUpload {
            #expect(try await ann.send("PUT", "/upload/p/f?readers=ann", "2")["_readers"] == #"["ann"]"#)
        } else {
            _ = try await ann.send("PUT", "/upload/p/f", "2")
            #expect(try await ann.patch("/upload/p/f", #"{"_readers":["ann"]}"#)["_readers"] == #"["ann"]"#)
        }
        #expect(try await counts() == ["2", "2", "0", "0"])
        #expect(try await ann.delete("/upload/p/f").status == 204)
        #expect(try await counts() == ["2", "2", "0", "0"])
        // Another file at the path does not reveal the previous one.
        #expect(try await bob.send("PUT", "/upload/p/f?readers=*", "of bob").status == 201)
        #expect(try await counts() == ["3", "3", "1", "1"])
        _ = try await bob.patch("/upload/p/f", #"{"_readers":["bob"]}"#)
        #expect(try await counts() == ["0", "0", "1", "1"], "ann may not read what is there now")
    }

    @Test func `files of other apps and environments are not found`() async throws {
        let app = try await StorageApp()
        let other = app.neighbour()
        _ = try await app.client.send("PUT", "/upload/f", "1")
        for client in [other.client, other.master, app.testClient] {
            #expect(try await client.get("/upload/f").isProblem(.fileNotFound))
            #expect(try await client.get("/upload")["count"] == "0")
            #expect(try await client.get("/upload-history")["count"] == "0")
        }
    }

    static let refusals: [(String, String, ErrorCode)] = [
        ("GET", "/upload/f?x=1", .invalidParameter), ("GET", "/upload/?limit=0", .invalidParameter),
        ("GET", "/upload/?limit=1001", .invalidParameter),
        ("GET", "/upload/?after=..", .invalidPath), ("GET", "/upload/f?info=1", .invalidParameter),
        ("POST", "/upload/a/", .invalidParameter),
        ("PUT", "/upload/a/", .invalidPath), ("DELETE", "/upload/a/", .invalidPath),
        ("GET", "/upload-history/?before=x", .invalidParameter),
        ("PATCH", "/upload/f", .fileNotFound), ("POST", "/upload/a/?name=..", .invalidPath),
        ("POST", "/upload/a/?name=b/../c", .invalidPath),
    ]

    @Test(arguments: refusals)
    func `invalid requests are refused`(_ method: String, _ path: String, _ code: ErrorCode) async throws {
        let app = try await StorageApp()
        _ = try await app.client.get("/upload")
        try await app.expectRefusal(code) { try await app.client.send(method, path, method == "GET" ? nil : "{}") }
    }

    @Test func `a caller without a client's credential gets nothing`() async throws {
        let app = try await StorageApp()
        for kind in [Principal.Kind.ingest, .evaluation, .link] {
            let client = app.client.acting(as: app.principal(kind))
            for (method, path) in [
                ("GET", "/upload/f"), ("PUT", "/upload/f"), ("GET", "/upload-history"), ("POST", "/files/tus"),
                ("POST", "/upload-link/f"),
            ] {
                let answer = try await client.send(
                    method, path, bytes: method == "GET" ? nil : [], headers: ["tus-resumable": "1.0.0"])
                #expect(answer.isProblem(.forbidden), "\(kind) \(path): \(answer)")
            }
        }
    }
}
