import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    @Suite(.localServer)
    struct FileTests {
        let server: LocalServer
        let client: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
        }

        @Test func `a file is uploaded, downloaded in ranges, and opened by a link without the secret`() async throws {
            let made = try await client.send("PUT", "upload/a/b%20c.txt", "hello")
            #expect(made.status == 201 && made.string("path") == "a/b c.txt", "\(made)")
            let part = try await client.adding("range", "bytes=1-3").get("upload/a/b%20c.txt")
            #expect(
                part.status == 206 && part.text == "ell" && part.header("content-range") == "bytes 1-3/5", "\(part)")
            #expect(try await client.get("upload/a/")["count"] == "1")
            for root in ["upload", "upload/"] { #expect(try await client.get(root)["count"] != nil) }
            let link = try #require(try await client.post("upload-link/a/b%20c.txt", "{}").string("path"))
            let anybody = Client(url: client.url, appKey: client.appKey, headers: [:])
            #expect(try await anybody.get(link).text == "hello")
            #expect(try await anybody.get(link.replacing("b%20c", with: "d")).isProblem(.invalidLink))
            #expect(try await anybody.get("upload/a/b%20c.txt").isProblem(.unauthorized))
            // A browser sends no header, so a link contains the environment of its file.
            let test = client.adding(HeaderName.environment, "test")
            #expect(try await test.send("PUT", "upload/a/b%20c.txt", "of test").status == 201)
            let linkToTest = try #require(try await test.post("upload-link/a/b%20c.txt", "{}").string("path"))
            #expect(try await anybody.get(linkToTest).text == "of test")
            #expect(FileManager.default.fileExists(atPath: server.state.path + "/files"), "in the state folder")
        }

        @Test(arguments: [true, false])
        func `an interrupted upload stores nothing`(_ isChunked: Bool) async throws {
            let path = "broken-\(isChunked)"
            var line: RawConnection? = try RawConnection(port: server.port)
            try line?.write(
                "PUT /api/\(client.appKey)/upload/\(path) HTTP/1.1\r\nHost: x\r\n\(HeaderName.secret): \(server.connection.secret)\r\n"
                    + (isChunked
                        ? "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" : "Content-Length: 100\r\n\r\nhello"))
            try await Task.sleep(for: .milliseconds(300))
            line = nil
            try await Task.sleep(for: .milliseconds(700))
            #expect(try await client.get("upload/\(path)").isProblem(.fileNotFound))
            #expect(try await client.send("PUT", "upload/after", "x").isSuccess)
        }

        @Test func `a resumable upload keeps what arrived before the connection broke`() async throws {
            let metadata = "path " + Data("resumed".utf8).base64EncodedString()
            let tus = client.adding("Tus-Resumable", "1.0.0")
            let created = try await tus.adding("Upload-Length", "10").adding("Upload-Metadata", metadata).send(
                "POST", "files/tus")
            #expect(created.status == 201, "\(created)")
            let upload = "files/" + (try #require(created.header("location")))
            var line: RawConnection? = try RawConnection(port: server.port)
            try line?.write(
                "PATCH /api/\(client.appKey)/\(upload) HTTP/1.1\r\nHost: x\r\n\(HeaderName.secret): \(server.connection.secret)\r\n"
                    + "Tus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\n"
                    + "Content-Length: 10\r\n\r\n01234")
            // The gateway stops forwarding, so the service must have begun to read. It first creates a file.
            let files = server.state.appending(path: "files").path
            try await eventually("storage has begun to read") {
                let spaces = (try? FileManager.default.contentsOfDirectory(atPath: files)) ?? []
                return spaces.contains { space in
                    let names = try? FileManager.default.contentsOfDirectory(atPath: "\(files)/\(space)/incoming")
                    return names?.isEmpty == false
                }
            }
            try await Task.sleep(for: .milliseconds(1_500))
            line = nil
            try await eventually("five bytes are kept") {
                try await tus.send("HEAD", upload).header("upload-offset") == "5"
            }
            // As from a client that can only send POST.
            let rest = try await tus.adding("Upload-Offset", "5").adding(
                "Content-Type", "application/offset+octet-stream"
            )
            .adding("X-HTTP-Method-Override", "PATCH").send("POST", upload, "56789")
            #expect(rest.status == 204, "\(rest)")
            #expect(try await client.get("upload/resumed").text == "0123456789")
        }

        @Test(.enabled(if: ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"]?.isEmpty == false))
        func `tuspy uploads a file in two sittings`() async throws {
            let python = try #require(ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"])
            let file = server.folder.appending(path: "large.csv")
            let text = (0..<150_000).map { "\($0),x" }.joined(separator: "\n")
            try Data(text.utf8).write(to: file)
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
                path: "Support/tus_upload.py")
            let program = try RunningProgram.start(
                [
                    python, script.path, "\(client.url)/api/\(client.appKey)/files/tus", server.connection.secret,
                    file.path, "big/large.csv",
                ],
                environment: ["PATH": "/usr/bin:/bin"], output: server.folder.appending(path: "tus.out"),
                errors: server.folder.appending(path: "tus.err"))
            let status = try await program.exitStatus()
            let errors = try String(contentsOf: server.folder.appending(path: "tus.err"), encoding: .utf8)
            try #require(status == 0, "\(errors)")
            let answer = try await client.get("upload/big/large.csv")
            #expect(answer.status == 200 && answer.text == text)
            #expect(answer.header("content-type") == "text/csv; charset=utf-8")
        }
    }
}
