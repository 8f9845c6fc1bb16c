import Foundation
import MartletAPI
import MartletCompression
import MartletCore
import MartletFiles
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite(.enabled(if: DebugFiles.isAvailable)) struct SymbolUploadTests {
    private static let rights = StaffRights(["app1": [.crashes: Set(StaffAction.allCases)]])

    @Test func `chunks of a file arrive in any order, compressed or not, and are assembled`() async throws {
        try await AnalyticsApp.run { app in
            let upload = SymbolUpload(app: app)
            let file = try DebugFiles.real()
            let first = try await upload.assemble(file, debugID: DebugFiles.debugID)
            let sha1 = SymbolUpload.sha1(file)
            #expect(first["\(sha1).state"] == "\"not_found\"")
            #expect(
                first["\(sha1).missingChunks.3"] != nil && first["\(sha1).missingChunks.4"] == nil,
                "four pieces: \(first)")

            let pieces = upload.chunks(file).map { (name: SymbolUpload.sha1($0), bytes: $0) }
            let packed = (name: pieces[3].name, bytes: try #require(Gzip.compress(pieces[3].bytes)))
            #expect(try await upload.send([packed, pieces[1]]).status == 200)
            let second = try await upload.assemble(file)
            #expect(
                second["\(sha1).missingChunks.1"] != nil && second["\(sha1).missingChunks.2"] == nil,
                "two are there: \(second)")
            #expect(try await upload.send([pieces[0], pieces[2]]).status == 200)
            let (state, answer) = try await upload.settled {
                try await upload.assemble(file, debugID: DebugFiles.debugID)
            }
            #expect(state == "ok", "\(answer)")
            #expect(
                answer["\(sha1).dif.debugId"] == "\"\(DebugFiles.debugID)\""
                    && answer["\(sha1).dif.cpuName"] == "\"x86_64\"")
            #expect(answer["\(sha1).dif.data.type"] == "\"dbg\"" && answer["\(sha1).dif.objectName"] == "\"app.dSYM\"")

            // The file exists: its chunks are no longer needed, and another request starts nothing.
            try await app.waitForSymbols { try await app.symbolBlobs().count == 1 }
            #expect(try await app.symbolRows("symbol_chunks") == 0)
            #expect(try await app.symbolRows("symbol_files") == 1)
            #expect(try await upload.assemble(file)["\(sha1).state"] == "\"ok\"")
        }
    }

    @Test func `an assembled file with the wrong content is refused, and nothing of it is kept`() async throws {
        try await AnalyticsApp.run { app in
            let upload = SymbolUpload(app: app)
            let text = Array(String(repeating: "not a debug file ", count: 1_000).utf8)
            let (state, answer) = try await upload.upload(text)
            #expect(state == "error" && answer.text.contains("neither Mach-O, ELF nor"), "\(answer)")

            let other = try await upload.upload(try DebugFiles.real(), debugID: "11111111-1111-1111-1111-111111111111")
            #expect(
                other.state == "error" && other.answer.text.contains("does not have the debug id"), "\(other.answer)")

            // Each chunk is valid, but together they do not have the requested SHA-1.
            let pieces = upload.chunks(try DebugFiles.real()).map(SymbolUpload.sha1)
            _ = try await upload.send(upload.chunks(try DebugFiles.real()).map { (SymbolUpload.sha1($0), $0) })
            let wrong = String(repeating: "a", count: 40)
            let forged = try await upload.settled {
                try await app.master(
                    "POST", "/crash/api/0/projects/o/1/files/difs/assemble/",
                    "{\"\(wrong)\":{\"name\":\"x\",\"chunks\":[\"\(pieces[0])\"]}}")
            }
            #expect(forged.state == "error" && forged.answer.text.contains("SHA-1"), "\(forged.answer)")
            #expect(try await app.symbolRows("debug_files") == 0)
            // Blobs are removed shortly after the state is visible.
            try await app.waitForSymbols {
                try await app.symbolBlobs().count == upload.chunks(try DebugFiles.real()).count - 1
            }

            // A refusal at the time limit of the job, whose task is cancelled then, is stored.
            try await app.postgres.execute("UPDATE analytics.symbol_files SET state = 'assembling'")
            let id = try await app.postgres.query("SELECT id FROM analytics.symbol_files LIMIT 1")[0].decode(
                0, as: UUID.self)
            let files = app.service.symbols.files
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await files.refuse(id, "late")
            }.value
            #expect(try await app.postgres.query("SELECT FROM analytics.symbol_files WHERE detail = 'late'").count == 1)
        }
    }

    @Test func `a file uploaded concurrently is stored once, and no chunk is left over`() async throws {
        try await AnalyticsApp.run { app in
            let file = DebugFiles.elf(buildID: [UInt8](repeating: 7, count: 20))
            let states = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await SymbolUpload(app: app, chunkLength: 64).upload(file).state }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(states == [String](repeating: "ok", count: 8))
            #expect(try await app.symbolRows("symbol_files") == 1)
            // Chunks that arrived after the file was assembled are removed once no request needs them; blobs are
            // removed shortly after the states are visible.
            try await app.waitForSymbols {
                try await app.postgres.execute("UPDATE analytics.symbol_chunks SET touched = now() - interval '1 day'")
                try await app.service.symbols.sweep.tidy()
                let blobs = try await app.service.symbols.backend.list(
                    SymbolChunkStore.blobSpace(of: "app1"), after: nil, limit: 100)
                return try await app.symbolRows("symbol_chunks") == 0 && blobs.blobs.count == 1
            }
        }
    }

    @Test func `a fat file is found by each of its parts`() async throws {
        try await AnalyticsApp.run { app in
            let (state, answer) = try await SymbolUpload(app: app).upload(
                DebugFiles.fat([try DebugFiles.real(), try DebugFiles.other()]))
            #expect(state == "ok", "\(answer)")
            for id in [DebugFiles.debugID, "11111111-1111-1111-1111-111111111111"] {
                let list = try await app.master("GET", "/crashes/symbols?debugId=\(id.uppercased())")
                #expect(list["count"] == "1" && list["data.0.parts.1.debugId"] != nil, "\(list)")
            }
            #expect(
                try await app.master("GET", "/crashes/symbols?debugId=\(String(repeating: "2", count: 32))")["count"]
                    == "0")
        }
    }

    @Test func `damaged, oversized, unnamed and too many chunks are refused`() async throws {
        try await AnalyticsApp.run { app in
            let upload = SymbolUpload(app: app)
            let piece = [UInt8](repeating: 7, count: 1_000)
            let name = SymbolUpload.sha1(piece)
            let unnamed = try await upload.send([("../../etc/passwd", piece)])
            #expect(unnamed.isSentryRefusal(.invalidBody, field: "filename"))
            #expect(try await upload.send([(name, Array(piece.dropLast()))]).isSentryRefusal(.invalidBody))
            #expect(try await upload.send([(name, [])]).isSentryRefusal(.invalidBody))
            let bomb = try #require(Gzip.compress([UInt8](repeating: 0, count: 60 << 20)))
            #expect(try await upload.send([(name, bomb)]).isSentryRefusal(.payloadTooLarge))
            let large = [UInt8](repeating: 1, count: 9 << 20)
            #expect(try await upload.send([(SymbolUpload.sha1(large), large)]).isSentryRefusal(.payloadTooLarge))
            let many = (0..<65).map { index in
                let bytes = [UInt8](repeating: UInt8(index), count: 10)
                return (name: SymbolUpload.sha1(bytes), bytes: bytes)
            }
            #expect(try await app.symbolRows("symbol_chunks") == 0)
            #expect(try await app.symbolBlobs() == [])
            #expect(try await upload.send(many).isSentryRefusal(.limitExceeded))
            let path = "/crash/api/0/organizations/any/chunk-upload/"
            #expect(try await app.master("POST", path, "hello").isSentryRefusal(.invalidBody))
            #expect(
                try await app.master(
                    "POST", path, "--x\r\n", headers: ["Content-Type": "multipart/form-data; boundary=x"]
                ).isSentryRefusal(.invalidBody))
        }
    }

    static let bodies: [(body: String, code: ErrorCode)] = [
        ("", .invalidJSON), ("[]", .invalidBody), (#"{"x":{}}"#, .invalidBody), ("{\"\(sha1)\":1}", .invalidBody),
        ("{\"\(sha1)\":{\"chunks\":[]}}", .invalidBody), ("{\"\(sha1)\":{\"name\":\"a\"}}", .invalidBody),
        ("{\"\(sha1)\":{\"name\":\"a\",\"chunks\":[\"b\"]}}", .invalidBody),
        ("{\"\(sha1)\":{\"name\":\"a\",\"debug_id\":\"b\",\"chunks\":[]}}", .invalidBody),
    ]
    private static let sha1 = String(repeating: "0", count: 40)

    @Test func `an invalid request is refused`() async throws {
        try await AnalyticsApp.run { app in
            for (body, code) in Self.bodies {
                let answer = try await app.master("POST", "/crash/api/0/projects/o/1/files/difs/assemble/", body)
                #expect(answer.isSentryRefusal(code), "\(body): \(answer)")
            }
        }
    }

    @Test func `only the app's own server may upload, and only to its own project`() async throws {
        try await AnalyticsApp.run { app in
            let upload = SymbolUpload(app: app)
            let file = try DebugFiles.real()
            for project in ["2", "app2", "", "01"] where !project.isEmpty {
                #expect(try await upload.assemble(file, project: project).isSentryRefusal(.appNotFound), "\(project)")
            }
            let own = try await upload.assemble(file, project: "app1")
            #expect(own.status == 200)
            for path in ["/crash/api/0", "/crash/api/0/organizations/o/chunk-upload/"] {
                #expect(try await app.master("GET", path).status == 200)
                #expect(try await app.client("GET", path, user: "u").isSentryRefusal(.forbidden))
                #expect(try await app.ingest("GET", path).isSentryRefusal(.forbidden))
                #expect(try await app.staff("GET", path, rights: Self.rights).isSentryRefusal(.forbidden))
            }
            #expect(
                try await app.ingest("POST", "/crash/api/0/projects/o/1/files/difs/assemble/", "{}").isSentryRefusal(
                    .forbidden))
            #expect(
                try await app.ingest("POST", "/crash/api/0/organizations/o/chunk-upload/", "").isSentryRefusal(
                    .forbidden))
        }
    }

    @Test func `files, apps and chunks have limits`() async throws {
        var options = AnalyticsOptions()
        options.symbols.maximumFileSizeInBytes = 700_000
        options.symbols.maximumAppSizeInBytes = 1_000_000
        options.symbols.maximumPendingSizeInBytes = 1_400_000
        try await AnalyticsApp.run(options) { app in
            let upload = SymbolUpload(app: app)
            #expect(try await upload.upload(try DebugFiles.real()).state == "ok")
            let full = try await upload.upload(try DebugFiles.other())
            #expect(full.state == "error" && full.answer.text.contains("Delete some"), "\(full.answer)")
            let large = try DebugFiles.other() + [UInt8](repeating: 0, count: 100_000)
            let refused = try await upload.upload(large)
            #expect(refused.state == "error" && refused.answer.text.contains("700000"), "\(refused.answer)")
            let more = (0..<4).map { [UInt8](repeating: UInt8($0), count: 200_000) }
            _ = try await upload.send(more.map { (SymbolUpload.sha1($0), $0) })
            #expect(try await upload.send([(SymbolUpload.sha1([1]), [1])]).isSentryRefusal(.limitExceeded))
            #expect(try await app.symbolRows("symbol_files") == 1)
        }
    }

    @Test func `unassembled chunks are deleted after a while, and so are orphans`() async throws {
        try await AnalyticsApp.run { app in
            let upload = SymbolUpload(app: app)
            #expect(try await upload.upload(try DebugFiles.other()).state == "ok")
            try await app.waitForSymbols { try await app.symbolBlobs().count == 1 }
            _ = try await upload.send(upload.chunks(try DebugFiles.real()).map { (SymbolUpload.sha1($0), $0) })
            #expect(try await app.symbolBlobs().count == 5)
            let sweep = app.service.symbols.sweep
            try await sweep.tidy()
            try await sweep.removeOrphans(before: Date().addingTimeInterval(60))
            #expect(try await app.symbolBlobs().count == 5, "no blob is old or orphaned")
            try await app.postgres.execute("UPDATE analytics.symbol_chunks SET touched = now() - interval '7 hours'")
            try await sweep.tidy()
            #expect(try await app.symbolRows("symbol_chunks") == 0)
            #expect(try await app.symbolBlobs().count == 1)
            try await app.postgres.execute("DELETE FROM analytics.debug_files")
            try await app.postgres.execute("UPDATE analytics.symbol_files SET blob = 'another'")
            try await sweep.removeOrphans(before: Date().addingTimeInterval(60))
            #expect(try await app.symbolBlobs() == [])
        }
    }

    @Test func `staff with the right to create upload files, too`() async throws {
        try await AnalyticsApp.run { app in
            let creator = StaffRights(["app1": [.crashes: [.create, .read]]])
            let upload = SymbolUpload(app: app)
            let file = try DebugFiles.real()
            let sha1 = SymbolUpload.sha1(file)
            let pieces = upload.chunks(file).map { (name: SymbolUpload.sha1($0), bytes: $0) }
            let names = pieces.map { "\"\($0.name)\"" }.joined(separator: ",")
            let body = #"{"\#(sha1)":{"name":"app.dSYM","chunks":[\#(names)]}}"#
            let path = "/crashes/symbols/assemble"

            let reader = StaffRights(["app1": [.crashes: [.read, .update, .delete]]])
            #expect(try await app.staff("POST", path, body, rights: reader).isProblem(.forbidden))
            #expect(try await upload.send(pieces, asStaffWith: reader).isProblem(.forbidden))
            #expect(try await app.symbolRows("symbol_chunks") == 0)

            #expect(try await app.staff("POST", path, body, rights: creator)["\(sha1).state"] == "\"not_found\"")
            #expect(try await upload.send(pieces, asStaffWith: creator).status == 204)
            let (state, answer) = try await upload.settled { try await app.staff("POST", path, body, rights: creator) }
            #expect(state == "ok", "\(answer)")
            let list = try await app.staff("GET", "/crashes/symbols", rights: creator)
            #expect(list["data.0.author"]?.hasPrefix("\"staff:") == true, "\(list)")

            let large = [UInt8](repeating: 0, count: (8 << 20) + (65 << 10))
            #expect(try await upload.send([(sha1, large)], asStaffWith: creator).isProblem(.payloadTooLarge))
            #expect(try await app.staff("POST", path, "[]", rights: creator).isProblem(.invalidBody))
        }
    }

    @Test func `staff list and delete files according to their rights`() async throws {
        try await AnalyticsApp.run { app in
            let upload = SymbolUpload(app: app)
            #expect(try await upload.upload(try DebugFiles.real()).state == "ok")
            #expect(try await upload.upload(try DebugFiles.other()).state == "ok")
            let first = try await app.staff("GET", "/crashes/symbols?limit=1", rights: Self.rights)
            #expect(first["data.0.parts.0.architecture"] == "\"arm64\"", "the newest first: \(first)")
            let next = try #require(first.json?["next"]?.plainText)
            let second = try await app.staff("GET", "/crashes/symbols?limit=1&after=\(next)", rights: Self.rights)
            #expect(
                second["data.0.parts.0.debugId"] == "\"\(DebugFiles.debugID)\"" && second["next"] == nil, "\(second)")
            let id = try #require(second.json?["data"]?["0"]?["id"]?.plainText)
            #expect(try await app.staff("GET", "/crashes/symbols/\(id)", rights: Self.rights)["state"] == "\"ok\"")

            for (method, path) in [
                ("GET", "/crashes/symbols"), ("GET", "/crashes/symbols/\(id)"), ("DELETE", "/crashes/symbols/\(id)"),
                ("GET", "/crashes/symbols/missing"),
            ] {
                #expect(try await app.staff(method, path).isProblem(.forbidden), "\(method) \(path)")
                #expect(try await app.client(method, path, user: "u").isProblem(.forbidden), "\(method) \(path)")
            }
            var stranger = app
            stranger.appID = "app2"
            #expect(try await stranger.master("GET", "/crashes/symbols/\(id)").isProblem(.debugFileNotFound))
            #expect(try await stranger.master("DELETE", "/crashes/symbols/\(id)").isProblem(.debugFileNotFound))
            #expect(try await stranger.master("GET", "/crashes/symbols")["count"] == "0")
            #expect(try await app.symbolRows("symbol_files") == 2)

            #expect(try await app.staff("DELETE", "/crashes/symbols/\(id)", rights: Self.rights).status == 204)
            #expect(
                try await app.staff("DELETE", "/crashes/symbols/\(id)", rights: Self.rights).isProblem(
                    .debugFileNotFound))
            #expect(
                try await app.staff("GET", "/crashes/symbols/none", rights: Self.rights).isProblem(.debugFileNotFound))
            #expect(try await app.symbolRows("debug_files") == 1)
            try await app.waitForSymbols { try await app.symbolBlobs().count == 1 }
            #expect(
                try await app.master("GET", "/crashes/symbols?debugId=x").isProblem(.invalidParameter, field: "debugId")
            )
            #expect(
                try await app.master("GET", "/crashes/symbols?after=x").isProblem(.invalidParameter, field: "after"))
        }
    }
}

extension AnalyticsApp {
    func symbolRows(_ table: String) async throws -> Int {
        let name = try #require(PostgresIdentifier(schema: "analytics", name: table))
        return try await postgres.query("SELECT count(*) FROM \(name)")[0].decode(0)
    }

    /// The stored bytes of the app's debug files and chunks.
    func symbolBlobs() async throws -> [String] {
        try await service.symbols.backend.list(SymbolChunkStore.blobSpace(of: appID), after: nil, limit: 1_000).blobs
            .map(\.id)
    }

    func waitForSymbols(_ condition: () async throws -> Bool) async throws {
        try await eventually { try await condition() }
    }
}
