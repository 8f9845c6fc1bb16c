import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Synchronization
import Testing

@testable import StorageService

@Suite struct FileScanTests {
    /// A GIF of one red pixel (GIF87a).
    private static let gif = Data(base64Encoded: "R0lGODdhAQABAPAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=")!

    /// Runs `body` while an instance of the service calls the app's scanner.
    private func scanning(_ app: StorageApp, _ body: () async throws -> Void) async throws {
        let client = app.database.client(for: "storage", maximumConnections: 2)
        let copy = StorageService(
            postgres: client, files: SharedFiles.settings, logger: .silent, hooks: SharedHooks.settings)
        let space = try app.space()
        let task = Task { await copy.hookDelivery.run(in: space) }
        do {
            try await body()
            task.cancel()
            await task.value
            await client.close()
        } catch {
            task.cancel()
            throw error
        }
    }

    private func state(_ app: StorageApp, _ path: String) async throws -> String? {
        try await app.master.get("/upload/\(path)?info=true")["state"]
    }

    private func link(_ path: String, by client: ServiceClient) async throws -> String {
        let answer = try await client.post("/upload-link/" + path, "{}")
        return "/" + (try #require(answer["path"])).dropFirst().dropLast()
    }

    private func deliveries(_ app: StorageApp, _ state: String) async throws -> Int {
        guard case .array(let all) = try await app.master.get("/hooks/scan/deliveries?state=\(state)").json?["data"]
        else { return 0 }
        return all.count
    }

    @Test func `no client can read a file before the verdict, on any path`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.send("PUT", "/upload/earlier.txt", "before the hook")
        try await app.hook("scan", "scanFile", at: HookReceiver())
        let made = try await app.user("ann").send("PUT", "/upload/a.gif", bytes: Array(Self.gif))
        #expect(made.status == 201 && made["state"] == #""scanning""#, "\(made)")
        let link = try await link("a.gif", by: app.master)
        let anybody = app.client.acting(as: app.principal(.link))
        for client in [app.client, app.user("ann"), app.user("bob")] {
            for path in ["/upload/a.gif", "/upload/a.gif?thumbnail=small", link] {
                try await app.expectRefusal(.fileScanning) { try await client.get(path) }
                #expect(try await client.send("HEAD", path).status == 423)
            }
            try await app.expectRefusal(.fileScanning) {
                try await client.send("GET", "/upload/a.gif", bytes: nil, headers: ["range": "bytes=0-1"])
            }
            // The answer does not reveal either whether a client knows the contents.
            let tag = #""\#(made["sha256"]?.filter { $0 != "\"" } ?? "")""#
            try await app.expectRefusal(.fileScanning) {
                try await client.send("GET", "/upload/a.gif", bytes: nil, headers: ["if-none-match": tag])
            }
            try await app.expectRefusal(.fileScanning) { try await client.post("/upload-link/a.gif", "{}") }
            #expect(try await client.get("/upload/a.gif?info=true")["state"] == #""scanning""#)
        }
        #expect(try await anybody.get(link).isProblem(.fileScanning))
        #expect(try await anybody.get("/link/live.99999999999.x/a.gif").isProblem(.invalidLink))
        #expect(try await app.master.get("/upload/a.gif").body.readableBytes == Self.gif.count)
        #expect(try await app.staff(may: [.storage: [.read]]).get("/upload/a.gif").status == 200)
        #expect(try await app.client.get("/upload/earlier.txt").text == "before the hook")
        // Callers who may not read the file get the same answer as for any other file.
        _ = try await app.user("ann").send("PUT", "/upload/own.txt?readers=ann", "x")
        #expect(try await app.user("bob").get("/upload/own.txt").isProblem(.fileNotFound))
    }

    @Test func `without a scanner, and with one that is disabled, a file is readable at once`() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        #expect(try await app.client.send("PUT", "/upload/a.txt", "1")["state"] == nil)
        #expect(try await app.client.get("/upload/a.txt").text == "1")
        try await app.hook("scan", "scanFile", at: receiver, #","enabled":false"#)
        #expect(try await app.client.send("PUT", "/upload/a.txt", "2")["state"] == nil)
        #expect(try await app.client.get("/upload/a.txt").text == "2")
        try await app.expectRefusal(.conflict, field: "event") {
            try await app.master.put("/hooks/second", #"{"event":"scanFile","url":"\#(receiver.url)"}"#)
        }
        try await app.expectRefusal(.invalidBody, field: "collection") {
            try await app.master.put(
                "/hooks/scan", #"{"event":"scanFile","collection":"Notes","url":"\#(receiver.url)"}"#)
        }
    }

    @Test func `the scanner gets the record and a link to the bytes, and its verdict decides`() async throws {
        let app = try await StorageApp()
        let anybody = app.client.acting(as: app.principal(.link))
        let scanner = try await HookReceiver { call in
            let link = "/" + (call["link"] ?? "").dropFirst().dropLast()
            let text = try await anybody.get(link).text
            return (200, text.contains("evil") ? #"{"allow":false,"reason":"Evil\u0007-1"}"# : #"{"allow":true}"#)
        }
        let secret = try await app.hook("scan", "scanFile", at: scanner)
        try await scanning(app) {
            for (path, text) in [("a%20b.txt", "good"), ("bad.txt", "evil")] {
                #expect(try await app.user("ann").send("PUT", "/upload/" + path, text)["state"] == #""scanning""#)
            }
            try await eventually { try await deliveries(app, "done") == 2 }
        }
        #expect(try await app.client.get("/upload/a%20b.txt").text == "good")
        #expect(try await app.client.get("/upload/a%20b.txt?info=true")["state"] == nil)
        let call = try #require(scanner.received.first { $0["file.path"] == #""bad.txt""# })
        #expect(call["event"] == #""scanFile""# && call["file.owner"] == #""ann""# && call["file.size"] == "4")
        #expect(call["file.contentType"] == #""text/plain""# && call["file.sha256"]?.count == 66)
        let signature = WebhookSecret(secret)?.signature(
            id: call.headers["webhook-id"] ?? "", timestamp: Int64(call.headers["webhook-timestamp"] ?? "") ?? 0,
            body: Data(call.body.utf8))
        #expect(call.headers["webhook-signature"] == signature)

        for client in [app.user("ann"), app.client, app.master] {
            #expect(try await client.get("/upload/bad.txt").isProblem(.fileRefused))
        }
        // The scanner's link does not open the file any more.
        let link = "/" + (try #require(call["link"])).dropFirst().dropLast()
        #expect(try await anybody.get(link).isProblem(.invalidLink))
        #expect(try await app.user("ann").get("/upload/bad.txt?info=true")["reason"] == #""Evil-1""#)
        let others = try await app.user("bob").get("/upload/bad.txt?info=true")
        #expect(others["state"] == #""refused""# && others["reason"] == nil && others["size"] == "0")
        let blobs = try await SharedFiles.settings.backend.list(app.space().schema, after: nil, limit: 10).blobs
        #expect(blobs.count == 2, "the sweep deletes the bytes of the refused file later")
        #expect(try await app.master.get("/files/usage")["bytes"] == "4")
    }

    @Test func `a link of the scanner opens one version, and no other file`() async throws {
        let app = try await StorageApp()
        let anybody = app.client.acting(as: app.principal(.link))
        let scanner = try await HookReceiver { _ in (202, "") }
        try await app.hook("scan", "scanFile", at: scanner)
        try await scanning(app) {
            _ = try await app.client.send("PUT", "/upload/a.txt", "1")
            try await scanner.wait(for: 1)
        }
        let link = "/" + (try #require(scanner.received[0]["link"])).dropFirst().dropLast()
        #expect(try await anybody.get(link).text == "1")
        #expect(try await anybody.get(link + "?thumbnail=small").isProblem(.invalidLink))
        _ = try await app.client.send("PUT", "/upload/b.txt", "other")
        #expect(try await anybody.get(link.replacingOccurrences(of: "a.txt", with: "b.txt")).isProblem(.invalidLink))
        _ = try await app.client.send("PUT", "/upload/a.txt", "2")
        #expect(try await anybody.get(link).isProblem(.invalidLink))
    }

    @Test(arguments: [
        (500, ""), (410, ""), (404, ""), (200, ""), (200, #"{"allow":"yes"}"#), (202, #"{"allow":true}"#),
    ])
    func `without a verdict a file stays unreadable, and the dead delivery is listed`(_ status: Int, _ answer: String)
        async throws
    {
        let app = try await StorageApp()
        let scanner = try await HookReceiver { _ in (status, answer) }
        try await app.hook("scan", "scanFile", at: scanner)
        try await scanning(app) {
            _ = try await app.client.send("PUT", "/upload/a.txt", "1")
            try await eventually { try await deliveries(app, "dead") == 1 }
        }
        #expect(scanner.received.count == SharedHooks.settings.maximumAttempts)
        #expect(try await app.client.get("/upload/a.txt").isProblem(.fileScanning))
        #expect(try await app.master.get("/hooks/scan/deliveries?state=dead")["data.0.object"] == #""a.txt""#)
        let failures = try await app.master.get("/hooks/scan/failures")
        #expect((failures["count"] == "0") == (status == 202), "\(failures)")
        #expect(try await app.master.get("/hooks/scan")["enabled"] == "true", "410 does not disable the scanner")
        #expect(try await app.client.send("PUT", "/upload/b.txt", "1")["state"] == #""scanning""#)
    }

    @Test func `a hook that is deleted and set again is called for the waiting files`() async throws {
        let app = try await StorageApp()
        try await app.hook("scan", "scanFile", at: HookReceiver { _ in (500, "") })
        _ = try await app.client.send("PUT", "/upload/a.txt", "1")
        #expect(try await app.master.delete("/hooks/scan").status == 204)
        #expect(try await app.client.get("/upload/a.txt").isProblem(.fileScanning))
        try await app.hook("scan", "scanFile", at: HookReceiver { _ in (200, #"{"allow":true}"#) })
        try await scanning(app) { try await eventually { try await state(app, "a.txt") == nil } }
        #expect(try await app.client.get("/upload/a.txt").text == "1")
    }

    @Test func `a verdict about a version does not decide about the next one`() async throws {
        let app = try await StorageApp()
        let calls = Mutex(0)
        let scanner = try await HookReceiver { call in
            let number = calls.withLock { calls in
                calls += 1
                return calls
            }
            guard number == 1 else { return (500, "") }
            // While the scanner looks at the first version, the second one arrives.
            _ = try await app.client.send("PUT", "/upload/a.txt", "2")
            return (200, #"{"allow":true}"#)
        }
        try await app.hook("scan", "scanFile", at: scanner)
        try await scanning(app) {
            _ = try await app.client.send("PUT", "/upload/a.txt", "1")
            try await scanner.wait(for: 2)
        }
        #expect(try await app.client.get("/upload/a.txt").isProblem(.fileScanning))
    }

    @Test func `a resumable upload is scanned like any other, and so is a form`() async throws {
        let app = try await StorageApp()
        try await app.hook("scan", "scanFile", at: HookReceiver())
        let created = try await app.client.send(
            "POST", "/files/tus", bytes: [],
            headers: [
                "tus-resumable": "1.0.0", "upload-length": "1",
                "upload-metadata": "path \(Data("t.txt".utf8).base64EncodedString())",
            ])
        let patched = try await app.client.send(
            "PATCH", "/files/" + (try #require(created.header("location"))), bytes: [0x31],
            headers: [
                "tus-resumable": "1.0.0", "upload-offset": "0", "content-type": "application/offset+octet-stream",
            ])
        #expect(patched.status == 204, "\(patched)")
        let form = "--b\r\ncontent-disposition: form-data; name=\"f\"; filename=\"f.txt\"\r\n\r\n1\r\n--b--\r\n"
        _ = try await app.client.send(
            "POST", "/upload/", form, headers: ["content-type": "multipart/form-data; boundary=b"])
        for path in ["t.txt", "f.txt"] {
            #expect(try await app.client.get("/upload/" + path).isProblem(.fileScanning), "\(path)")
        }
    }

    @Test func `the app's server and staff can set a verdict themselves, also for readable files`() async throws {
        let app = try await StorageApp()
        let staff = app.staff(may: [.storage: [.read, .update]])
        _ = try await app.client.send("PUT", "/upload/old.txt", "old")
        try await app.hook("scan", "scanFile", at: HookReceiver())
        let made = try await app.client.send("PUT", "/upload/a.txt", "1")
        for client in [app.client, app.user("ann"), app.staff(may: [.storage: [.read]])] {
            try await app.expectRefusal(.forbidden) {
                try await client.put("/upload-verdict/a.txt", #"{"allow":true}"#)
            }
        }
        try await app.expectRefusal(.invalidBody, field: "allow") { try await staff.put("/upload-verdict/a.txt", "{}") }
        try await app.expectRefusal(.invalidBody, field: "reason") {
            let reason = String(repeating: "x", count: 501)
            return try await staff.put("/upload-verdict/a.txt", #"{"allow":false,"reason":"\#(reason)"}"#)
        }
        try await app.expectRefusal(.fileNotFound) { try await staff.put("/upload-verdict/b.txt", #"{"allow":true}"#) }
        try await app.expectRefusal(.preconditionFailed) {
            try await app.master.send(
                "PUT", "/upload-verdict/a.txt", #"{"allow":true}"#, headers: ["if-match": #""other""#])
        }
        let tag = #""\#(made["sha256"]?.filter { $0 != "\"" } ?? "")""#
        let allowed = try await app.master.send(
            "PUT", "/upload-verdict/a.txt", #"{"allow":true}"#, headers: ["if-match": tag])
        #expect(allowed.status == 200 && allowed["state"] == nil, "\(allowed)")
        #expect(try await app.client.get("/upload/a.txt").text == "1")

        let refused = try await staff.put("/upload-verdict/old.txt", #"{"allow":false,"reason":"reported"}"#)
        #expect(refused["state"] == #""refused""# && refused["reason"] == #""reported""#, "\(refused)")
        #expect(try await app.client.get("/upload/old.txt").isProblem(.fileRefused))
        try await app.expectRefusal(.fileRefused) { try await staff.put("/upload-verdict/old.txt", #"{"allow":true}"#) }
        // The file's owner may replace and delete it; this file has none, so everyone may.
        #expect(try await app.client.send("PUT", "/upload/old.txt", "new")["state"] == #""scanning""#)
        #expect(try await app.client.delete("/upload/old.txt").status == 204)
    }

    @Test func `files that cannot be read are not copied into test`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.send("PUT", "/upload/a.txt", "1")
        _ = try await app.client.send("PUT", "/upload/refused.txt", "2")
        _ = try await app.master.put("/upload-verdict/refused.txt", #"{"allow":false}"#)
        try await app.hook("scan", "scanFile", at: HookReceiver())
        _ = try await app.client.send("PUT", "/upload/waits.txt", "3")
        _ = try await app.testClient.get("/upload/")
        try await app.postgres.withTransaction(isolation: .repeatableRead) { transaction in
            let copy = EnvironmentCopy(
                live: try app.space(), test: try app.space(.test), transaction: transaction, timeout: .seconds(60))
            let files = try await copy.files(after: "", limit: 10)
            #expect(files.map(\.path) == ["a.txt"])
        }
    }
}
