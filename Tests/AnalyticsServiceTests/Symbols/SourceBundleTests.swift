import Foundation
import MartletAPI
import MartletCompression
import MartletCore
import MartletFiles
import MartletJobs
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct SourceBundleTests {
    private static let id = DebugFiles.debugID
    private static let path = "/b/src/main.c"
    private static let text = (1...60).map { "line \($0)" }.joined(separator: "\n") + "\n"

    private static func manifest(
        _ id: String = id, files: String = #""files/main.c":{"type":"source","path":"\#(path)"}"#
    ) -> String {
        #"{"files":{\#(files)},"arch":"x86_64","debug_id":"\#(id)","object_name":"app"}"#
    }

    @Test(arguments: [true, false]) func `sources are found by the paths in the manifest, compressed or not`(
        isPacked: Bool
    ) async throws {
        let archive = TestZip.bytes(
            [("files/main.c", Self.text), ("manifest.json", Self.manifest())], isPacked: isPacked)
        let bundle = try await SourceBundle(of: ObjectSource(archive))
        #expect(bundle.debugID.description == Self.id && bundle.architecture == "x86_64")
        #expect(try await bundle.text(of: Self.path) == Self.text)
        #expect(try await bundle.text(of: "files/main.c") == nil, "not found by the name of the entry")
        #expect(try await bundle.text(of: "/etc/passwd") == nil)
        let part = try #require(try await ObjectFile.parts(of: ObjectSource(archive)).first)
        #expect(part.kind == .sources && part.range == 0..<archive.count)
    }

    static let hostile: [(String, [UInt8])] = [
        ("nothing behind the beginning", Array("SYSB".utf8) + [2, 0, 0, 0]),
        ("another version", Array("SYSB".utf8) + [9, 0, 0, 0] + [UInt8](repeating: 0, count: 40)),
        ("no manifest", TestZip.bytes([("files/main.c", text)])),
        ("a manifest that is not JSON", TestZip.bytes([("manifest.json", "hello")])),
        ("no debug id", TestZip.bytes([("manifest.json", manifest("x"))])),
        (
            "a bomb",
            TestZip.bytes([("manifest.json", String(repeating: " ", count: 20 << 20) + manifest())], isPacked: true)
        ),
        (
            "a bomb that says it is small",
            TestZip.bytes(
                [("manifest.json", String(repeating: " ", count: 20 << 20) + manifest())], isPacked: true, said: 100)
        ),
        ("a wrong checksum", TestZip.bytes([("manifest.json", manifest())], checksum: 7)),
        ("another way of packing", TestZip.bytes([("manifest.json", manifest())], method: 93)),
    ]

    @Test(arguments: hostile) func `an invalid or damaged bundle is refused with a reason`(
        _ name: String, _ bytes: [UInt8]
    ) async throws {
        await #expect(throws: ObjectFile.Refusal.self) { _ = try await SourceBundle(of: ObjectSource(bytes)) }
    }

    @Test func `a modified bundle is read or refused, and never read beyond its end`() async throws {
        var generator = SeededGenerator(state: 3)
        let sample = TestZip.bytes([("files/main.c", Self.text), ("manifest.json", Self.manifest())], isPacked: true)
        for _ in 0..<5_000 {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 4..<bytes.count, using: &generator)] =
                    [0, 1, 0x7f, 0xff, .random(in: 0...255, using: &generator)].randomElement(using: &generator) ?? 0
            }
            if Bool.random(using: &generator) {
                bytes = Array(bytes.prefix(Int.random(in: 4...bytes.count, using: &generator)))
            }
            let bundle = try? await SourceBundle(of: ObjectSource(bytes))
            if let text = try? await bundle?.text(of: Self.path) { #expect(text.utf8.count <= 1 << 20) }
        }
    }

    @Test func `a source that cannot be read right now is not treated as missing`() async throws {
        let archive = TestZip.bytes([("files/main.c", Self.text), ("manifest.json", Self.manifest())])
        let isUnavailable = Mutex(false)
        let bundle = try await SourceBundle(
            of: ObjectSource(sizeInBytes: archive.count) { range in
                if isUnavailable.withLock({ $0 }) { throw FileError.unavailable(cause: "test") }
                return Array(archive[range])
            })
        isUnavailable.withLock { $0 = true }
        await #expect(throws: FileError.self) { try await bundle.text(of: Self.path) }
        isUnavailable.withLock { $0 = false }
        #expect(try await bundle.text(of: Self.path) == Self.text)
    }

    @Test(arguments: [
        (1, 0, "line 1", 5), (3, 2, "line 3", 5), (60, 5, "line 60", 1), (61, 5, "", 0),
    ]) func `up to five lines before and after a line are shown`(
        _ line: Int, _ before: Int, _ text: String, _ after: Int
    ) throws {
        let context = try #require(SourceTexts.context(of: line, in: Self.text))
        #expect(context.before.count == before && context.line == text && context.after.count == after)
        for line in [0, -1, 62, Int.max] { #expect(SourceTexts.context(of: line, in: Self.text) == nil) }
    }

    @Test(.enabled(if: DebugFiles.isAvailable && SymbolSettings().symbolizer != nil))
    func `the app's own calls show their source if it is available`() async throws {
        try await AnalyticsApp.run { app in
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            let space = try await app.service.spaces.space(of: "app1", .live)
            func frames() async throws -> JSONValue? {
                let event = try JSONValue(
                    parsing: """
                        {"exception":{"values":[{"stacktrace":{"frames":[{"instruction_addr":"0xdba0","in_app":false},{"instruction_addr":"0xdba0","in_app":true}]}}]},\
                        "debug_meta":{"images":[{"debug_id":"\(Self.id)","image_addr":"0x0","type":"macho"}]}}
                        """.utf8)
                return await app.service.symbols.symbolicate(event, in: space).event["exception"]?["values"]?["0"]?[
                    "stacktrace"]?["frames"]
            }
            let bare = try await frames()
            let path = try #require(bare?["1"]?["abs_path"]?.plainText)
            #expect(bare?["1"]?["lineno"] == .number("30") && bare?["1"]?["context_line"] == nil)
            let text = (1...60).map { "line \($0)" }.joined(separator: "\n")
            let bundle = TestZip.bytes([
                ("files/x", text),
                (
                    "manifest.json",
                    Self.manifest(files: #""files/x":{"type":"source","path":\#(JSONValue.quote(path))}"#)
                ),
            ])
            let uploaded = try await SymbolUpload(app: app).upload(bundle, debugID: Self.id)
            #expect(uploaded.state == "ok" && uploaded.answer.text.contains(#""type": "src""#), "\(uploaded)")
            let shown = try await frames()
            #expect(
                shown?["1"]?["context_line"] == .string("line 30")
                    && shown?["1"]?["pre_context"]?["0"] == .string("line 25"))
            #expect(
                shown?["1"]?["post_context"]?["4"] == .string("line 35")
                    && shown?["1"]?["function"] == bare?["1"]?["function"], "the debug file is used, too")
            #expect(shown?["0"]?["context_line"] == nil)
        }
    }

    @Test(.enabled(if: DebugFiles.isAvailable && SymbolSettings().symbolizer != nil))
    func `sources may arrive before the debug file or after the reports, which keep their issue`() async throws {
        try await AnalyticsApp.run { app in
            func upload(_ path: String) async throws {
                let text = (1...60).map { "line \($0)" }.joined(separator: "\n")
                let manifest = Self.manifest(files: #""files/x":{"type":"source","path":\#(JSONValue.quote(path))}"#)
                #expect(
                    try await SymbolUpload(app: app).upload(
                        TestZip.bytes([("files/x", text), ("manifest.json", manifest)])
                    ).state == "ok")
                try await app.waitForSymbols {
                    try await app.service.symbols.files.queue.unfinished(
                        scope: "app1", kinds: [SymbolicateAgain.kind, AddSources.kind]) == 0
                }
            }
            func innermost(_ member: String) async throws -> [String] {
                try await app.rows(
                    "SELECT content #>> '{exception,values,0,stacktrace,frames,-1,\(member)}' FROM analytics.crash_events WHERE space = % ORDER BY id"
                )
            }
            for (id, user) in [(Self.id, "ann"), ("22222222-2222-2222-2222-222222222222", "bob")] {
                try await app.report(
                    """
                    {"user":{"id":"\(user)"},"exception":{"values":[{"type":"E","stacktrace":{"frames":[{"instruction_addr":"0xdba0","in_app":true}]}}]},\
                    "debug_meta":{"images":[{"debug_id":"\(id.uppercased())","image_addr":"0x0","type":"macho"}]}}
                    """)
            }
            try await app.digested()

            // The reports still wait for the debug file.
            try await upload("/elsewhere")
            try await SymbolicateAgain.enqueueForgotten(app.postgres, app.service.symbols.files.queue)
            #expect(
                try await app.service.symbols.files.queue.unfinished(scope: "app1", kinds: [SymbolicateAgain.kind]) == 0
            )
            #expect(try await app.rows("SELECT count(*) FROM analytics.awaited_symbols WHERE space = %") == ["2"])
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            try await app.waitForSymbols {
                try await app.rows("SELECT count(*) FROM analytics.awaited_symbols WHERE space = %") == ["1"]
            }
            #expect(try await innermost("lineno") == ["30", ""])
            #expect(try await innermost("context_line") == ["", ""])

            let state =
                "SELECT issue, encode(app_hash, 'hex'), content #>> '{martlet}' FROM analytics.crash_events WHERE space = % ORDER BY id"
            let (before, issues) = (
                try await app.rows(state),
                try await app.rows("SELECT number, title, culprit, events, users FROM analytics.issues WHERE space = %")
            )
            try await upload(try #require(try await innermost("abs_path").first))
            #expect(try await innermost("context_line") == ["line 30", ""])
            #expect(try await innermost("lineno") == ["30", ""])
            #expect(try await app.rows(state) == before)
            #expect(
                try await app.rows("SELECT number, title, culprit, events, users FROM analytics.issues WHERE space = %")
                    == issues)
        }
    }
}

/// Zip archives after `SYSB`, valid and invalid.
enum TestZip {
    static func bytes(
        _ entries: [(name: String, text: String)], isPacked: Bool = false, said size: Int? = nil,
        checksum: UInt32? = nil, method: UInt16? = nil
    ) -> [UInt8] {
        func little(_ value: some FixedWidthInteger) -> [UInt8] { DebugFiles.little(value) }
        var (body, directory): ([UInt8], [UInt8]) = (Array("SYSB".utf8) + [2, 0, 0, 0], [])
        for entry in entries {
            let text = Array(entry.text.utf8)
            // gzip adds ten bytes before and eight after.
            let zipped = isPacked ? Gzip.compress(text).map { Array($0.dropFirst(10).dropLast(8)) } : nil
            let packed = zipped ?? text
            let way: UInt16 = method ?? (zipped == nil ? 0 : 8)
            let sizes: [UInt8] = little(UInt32(packed.count)) + little(UInt32(size ?? text.count))
            let fields: [UInt8] =
                little(way) + [0, 0, 0, 0] + little(checksum ?? Checksum.crc32(text)) + sizes
                + little(UInt16(entry.name.utf8.count)) + [0, 0]
            let version: [UInt8] = [20, 0, 0, 0]
            let place: [UInt8] = [UInt8](repeating: 0, count: 10) + little(UInt32(body.count))
            directory += [[0x50, 0x4b, 1, 2, 20, 0], version, fields, place, Array(entry.name.utf8)].joined()
            body += [[0x50, 0x4b, 3, 4], version, fields, Array(entry.name.utf8), packed].joined()
        }
        let count = little(UInt16(entries.count))
        let end: [[UInt8]] = [
            [0x50, 0x4b, 5, 6, 0, 0, 0, 0], count, count, little(UInt32(directory.count)), little(UInt32(body.count)),
            [0, 0],
        ]
        return body + directory + end.joined()
    }
}
