import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite(.enabled(if: DebugFiles.isAvailable)) struct SymbolicationTests {
    private static let imageAddress: UInt64 = 0x10_b3e0_0000

    /// A report with frames at offsets in the image of the real dSYM, outermost first.
    private func event(_ frames: [String], images: String? = nil) throws -> JSONValue {
        let image = """
            {"type":"macho","debug_id":"\(DebugFiles.debugID.uppercased())","code_file":"/Users/me/Crash.app/crash","arch":"x86_64",\
            "image_addr":"\(Self.hex(Self.imageAddress))","image_vmaddr":"0x100000000","image_size":262144}
            """
        return try JSONValue(
            parsing: """
                {"event_id":"e","exception":{"values":[{"type":"SIGSEGV","stacktrace":{"frames":[\(frames.joined(separator: ","))]}}]},\
                "debug_meta":{"images":[\(images ?? image)]}}
                """.utf8)
    }

    private func frame(_ offset: UInt64, _ more: String = "") -> String {
        #"{"instruction_addr":"\#(Self.hex(Self.imageAddress + offset))","in_app":true\#(more)}"#
    }

    private static func hex(_ number: UInt64) -> String { "0x" + String(number, radix: 16) }

    /// `function file:line symbolication` for every frame.
    private func lines(_ event: JSONValue) -> [String] {
        guard case .array(let frames) = event["exception"]?["values"]?["0"]?["stacktrace"]?["frames"] else { return [] }
        return frames.map { frame in
            let function = frame["function"]?.plainText?.prefix { $0 != "(" } ?? "-"
            return
                "\(function) \(frame["filename"]?.plainText ?? "-"):\(frame["lineno"]?.text ?? "-") \(frame["symbolication"]?.plainText ?? "-")"
        }
    }

    private static let hasSymbolizer = SymbolSettings().symbolizer != nil

    @Test(.enabled(if: hasSymbolizer))
    func `addresses of a real program become functions and lines, including inlined calls`() async throws {
        try await AnalyticsApp.run { app in
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            let space = try await app.service.spaces.space(of: "app1", .test)
            // The outer two are return addresses, so the byte before each is looked up: 0xd05b is in the call in line
            // 256, 0xd0a4 in a function inlined at line 252.
            let original = try event([frame(0xd05c), frame(0xd0a5), frame(0xdba0)])
            let result = await app.service.symbols.symbolicate(original, in: space)
            let expected = [
                "MacFileUtilities::MachoWalker::WalkHeaderCore macho_walker.cc:256 found",
                "MacFileUtilities::MachoWalker::WalkHeaderCore macho_walker.cc:252 found",
                "MacFileUtilities::MachoWalker::ReadBytes macho_walker.cc:102 inlined", "main main.cpp:30 found",
            ]
            #expect(lines(result.event) == expected)
            #expect(result.missing == [] && result.isChanged)
            let last = result.event["exception"]?["values"]?["0"]?["stacktrace"]?["frames"]?["3"]
            #expect(
                last?["abs_path"]?.plainText?.hasSuffix("/macos/main.cpp") == true && last?["in_app"] == .bool(true))
            #expect(
                result.event["event_id"] == original["event_id"] && result.event["debug_meta"] == original["debug_meta"]
            )

            let again = await app.service.symbols.symbolicate(result.event, in: space)
            #expect(lines(again.event) == expected, "the outcome is the same")
            #expect(!again.isChanged)
        }
    }

    @Test(.enabled(if: hasSymbolizer)) func `the innermost address is exact unless the client says otherwise`()
        async throws
    {
        try await AnalyticsApp.run { app in
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            let space = try await app.service.spaces.space(of: "app1", .live)
            func line(_ change: String) async throws -> String? {
                let text = try event([frame(0xd05c)]).text.replacing(
                    #""stacktrace":{"#, with: #""stacktrace":{\#(change)"#)
                return lines(await app.service.symbols.symbolicate(try JSONValue(parsing: text.utf8), in: space).event)
                    .first
            }
            #expect(try await line("")?.contains(":259 ") == true)
            #expect(try await line(#""instruction_addr_adjustment":"none","#)?.contains(":259 ") == true)
            #expect(try await line(#""instruction_addr_adjustment":"all","#)?.contains(":256 ") == true)
        }
    }

    @Test func `frames without a debug file stay unchanged, and missing files are named except those of the system`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            let images = """
                {"uuid":"\(DebugFiles.debugID)","code_file":"/private/var/containers/Bundle/Application/1/App.app/App","image_addr":\(Self.imageAddress),"arch":"arm64"},
                {"debug_id":"aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa","code_file":"/System/Library/Frameworks/UIKit.framework/UIKit","image_addr":"0x1000","image_size":4096},
                {"debug_id":"bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb","code_file":"/Unused","image_addr":"0x3000","image_size":16},
                {"debug_id":"no id","image_addr":"0x4000"}, 7, null
                """
            let frames = [
                frame(0x10), #"{"instruction_addr":"0x1010"}"#, #"{"instruction_addr":"0x2fff"}"#,
                #"{"instruction_addr":"zebra","function":"f"}"#, "7",
                #"{"instruction_addr":"0xffffffffffffffffff"}"#, "{}",
            ]
            let original = try event(frames, images: images)
            let result = await app.service.symbols.symbolicate(original, in: space)
            #expect(result.event == original && !result.isChanged)
            #expect(result.missing == [MissingImage(debugID: DebugFiles.debugID, name: "App", architecture: "arm64")])
        }
    }

    static let oddities = [
        "null", "7", "[]", "{}", #"{"exception":null}"#, #"{"exception":{"values":7}}"#,
        #"{"exception":[{"stacktrace":null}]}"#,
        #"{"exception":{"stacktrace":{"frames":{}}},"debug_meta":{"images":{}}}"#,
        #"{"threads":{"values":[7,{"stacktrace":{"frames":[[]]}}]},"debug_meta":[]}"#,
        #"{"stacktrace":{"frames":[{"instruction_addr":{}}]},"debug_meta":{"images":[[],{"debug_id":7},{"debug_id":"\#(DebugFiles.debugID)","image_addr":{}}]}}"#,
    ]

    @Test func `reports of any shape are accepted`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            for oddity in Self.oddities {
                let event = try JSONValue(parsing: oddity.utf8)
                #expect(await app.service.symbols.symbolicate(event, in: space).event == event)
            }
        }
    }

    @Test(.enabled(if: hasSymbolizer)) func `frames are found in every place of Sentry's format`()
        async throws
    {
        try await AnalyticsApp.run { app in
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            let space = try await app.service.spaces.space(of: "app1", .live)
            let stack = #"{"stacktrace":{"frames":[\#(frame(0xdba0))]}}"#
            let images = try event([]).text.dropFirst().dropLast()
            for holder in [
                stack, #"{"exception":\#(stack)}"#, #"{"exception":[\#(stack)]}"#,
                #"{"threads":{"values":[\#(stack)]}}"#, #"{"threads":[\#(stack)]}"#,
            ] {
                let own = try JSONValue(parsing: holder.utf8)
                guard case .object(let members) = own,
                    case .object(let others) = try JSONValue(parsing: "{\(images)}".utf8)
                else { continue }
                let event = JSONValue.object(members + others.filter { $0.name == "debug_meta" })
                #expect(
                    await app.service.symbols.symbolicate(event, in: space).event.text.contains(#""function":"main""#),
                    "\(holder)")
            }
        }
    }

    // MARK: - Symbolizers that misbehave

    /// A script that stands in for the symbolizer.
    private func script(_ text: String, in folder: String) throws -> String {
        let path = folder + "/symbolizer"
        try ("#!/bin/sh\n" + text).write(toFile: path, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    /// - Parameter time: Short only for scripts that block: on a busy machine others may need several seconds.
    private func withSymbolizer(
        _ text: String, time: Duration = .seconds(120), _ body: @Sendable (AnalyticsApp, Space) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "martlet-symbolizer-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = AnalyticsOptions()
        options.symbols.symbolizer = try script(text, in: folder)
        options.symbols.cacheDirectory = folder + "/cache"
        options.symbols.time = time
        try await AnalyticsApp.run(options) { app in
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            try await body(app, try await app.service.spaces.space(of: "app1", .live))
        }
    }

    @Test(arguments: [
        "sleep 60", "exit 1", "while :; do :; done", "while read -r line; do echo nonsense; done", "exec yes",
        "cat /dev/zero", "kill -9 $$",
        "while read -r line; do echo '{\"Error\":{\"Message\":\"The file was not recognized\"}}'; done",
        "read -r line; echo '{\"Symbol\":[]}'; echo more",
    ])
    func
        `a debug file that crashes or blocks the symbolizer leaves frames unchanged, and is given up after three failures`(
            _ text: String
        ) async throws
    {
        try await withSymbolizer(text, time: .seconds(1)) { app, space in
            let original = try event([frame(0xd0a5), frame(0xdba0)])
            for _ in 0..<3 {
                let result = await app.service.symbols.symbolicate(original, in: space)
                #expect(result.event == original && result.missing == [])
            }
            let list = try await app.master("GET", "/crashes/symbols")
            #expect(list["data.0.parts.0.isBroken"] == "true", "\(list)")
            #expect(await app.service.symbols.symbolicate(original, in: space).event == original)
            let failures: Int = try await app.postgres.query("SELECT max(failures)::bigint FROM analytics.debug_files")[
                0
            ].decode(0)
            #expect(failures == 3, "it is not tried again")
        }
    }

    @Test func `a debug file that failed only occasionally is retried`() async throws {
        // Works only every second time: fails and creates the file `again`, or works and removes it.
        let text =
            #"m="$(dirname "$0")/again"; if [ -e "$m" ]; then rm "$m"; while read -r line; do echo '{"Symbol":[{"FunctionName":"f"}]}'; done; else touch "$m"; exit 1; fi"#
        try await withSymbolizer(text) { app, space in
            for number in 0..<8 {
                _ = await app.service.symbols.symbolicate(try event([frame(0xd000 + UInt64(number) * 16)]), in: space)
                await app.service.symbols.sweep.pool?.endIdle(before: .now)
            }
            #expect(try await app.master("GET", "/crashes/symbols")["data.0.parts.0.isBroken"] == "false")
        }
    }

    @Test func `data from a debug file is limited`() async throws {
        let long = String(repeating: "x", count: 20_000)
        let answer =
            #"{"Symbol":[{"FunctionName":"\#(long)","FileName":"/a/\u0007b.c","Line":-4,"Column":99999999999},{"FunctionName":"","FileName":"","Line":0}]}"#
        try await withSymbolizer("while read -r line; do cat <<'END'\n\(answer)\nEND\ndone") { app, space in
            let result = await app.service.symbols.symbolicate(try event([frame(0xdba0)]), in: space)
            let frame = result.event["exception"]?["values"]?["0"]?["stacktrace"]?["frames"]?["0"]
            #expect(frame?["function"]?.plainText?.count == 4_096)
            #expect(frame?["filename"]?.plainText == "b.c" && frame?["lineno"] == nil && frame?["colno"] == nil)
        }
    }

    @Test func `the symbolizer gets only a path and an address, in an empty folder and a clean environment`()
        async throws
    {
        let answer =
            #"echo "{\"Symbol\":[{\"FunctionName\":\"$(pwd | sed 's/.*\///' | cut -c1-6) $(ls -A | wc -l) ${DEBUGINFOD_URLS:-none} $HOME $(echo "$line" | grep -c '^".*/cache/.*" 0x10000dba0$')\"}]}""#
        try await withSymbolizer("while read -r line; do \(answer); done") { app, space in
            let result = await app.service.symbols.symbolicate(try event([frame(0xdba0)]), in: space)
            #expect(lines(result.event) == ["empty- 0 none /nonexistent 1 -:- found"])
        }
    }

    @Test func `without the programs everything stays unchanged`() async throws {
        var options = AnalyticsOptions()
        options.symbols.symbolizer = nil
        options.symbols.demangler = nil
        try await AnalyticsApp.run(options) { app in
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            let original = try event([frame(0xdba0, #","function":"$s4main3fooyyF""#)])
            let result = await app.service.symbols.symbolicate(
                original, in: try await app.service.spaces.space(of: "app1", .live))
            #expect(result.event == original && result.missing == [])
            #expect(await app.service.symbols.demangle(["$s4main3fooyyF"]) == ["$s4main3fooyyF"])
        }
    }

    // MARK: - Symbols that arrive later

    @Test func `reports waiting for symbols are processed again once, in both environments, when the symbols arrive`()
        async throws
    {
        try await AnalyticsApp.run { app in
            let seen = Mutex<[String: [UUID]]>([:])
            let again = SymbolicateAgain(postgres: app.postgres) { reports, space in
                seen.withLock { $0["\(space.appID) \(space.environment.rawValue)", default: []] += reports }
            }
            let live = try await app.service.spaces.space(of: "app1", .live)
            let test = try await app.service.spaces.space(of: "app1", .test)
            let other = try await app.service.spaces.space(of: "app2", .live)
            let reports = (0..<250).map { _ in UUID() }
            let (inTest, ofOther, early, late) = (UUID(), UUID(), UUID(), UUID())
            try await app.record(reports, live, [DebugFiles.debugID])
            try await app.record([reports[0]], live, [DebugFiles.debugID, "11111111-1111-1111-1111-111111111111"])
            try await app.record([inTest], test, [DebugFiles.debugID])
            try await app.record([ofOther], other, [DebugFiles.debugID])
            let missing = try await app.master("GET", "/crashes/symbols/missing")
            #expect(
                missing["data.0.debugId"] == "\"\(DebugFiles.debugID)\"" && missing["data.0.reports"] == "250"
                    && missing["data.1.reports"] == "1")

            for _ in 0..<2 { try await again.rerunAll(DebugFiles.debugID, of: "app1") {} }
            #expect(seen.withLock { ($0["app1 live"]?.count ?? 0) + ($0["app1 test"]?.count ?? 0) } == 251)
            #expect(seen.withLock { Set($0["app1 live"] ?? []) } == Set(reports))
            #expect(seen.withLock { $0["app1 test"] } == [inTest])
            #expect(seen.withLock { $0["app2 live"] } == nil)
            #expect(try await app.symbolRows("awaited_symbols") == 2)

            // The file triggers the waiting reports; its job processes them once.
            try await app.record([early, inTest], live, [DebugFiles.debugID])
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            try await app.waitForSymbols { try await app.symbolRows("awaited_symbols") == 2 }
            // A report recorded while the file was arriving.
            try await app.record([late], live, [DebugFiles.debugID])
            try await app.waitForSymbols {
                try await SymbolicateAgain.enqueueForgotten(app.postgres, app.service.symbols.files.queue)
                return try await app.symbolRows("awaited_symbols") == 2
            }
        }
    }

    @Test func `after a file with names only, reports keep waiting for one with debug information`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            #expect(try await SymbolUpload(app: app).upload(try DebugFiles.real()).state == "ok")
            try await app.waitForSymbols {
                try await app.service.symbols.files.queue.unfinished(scope: "app1", kinds: [SymbolicateAgain.kind]) == 0
            }
            try await app.postgres.execute("UPDATE analytics.debug_files SET has_debug_information = FALSE")
            let result = await app.service.symbols.symbolicate(try event([frame(0xdba0)]), in: space)
            #expect(result.missing.map(\.debugID) == [DebugFiles.debugID])
            let reports = (0..<150).map { _ in UUID() }
            try await app.record(reports, space, [DebugFiles.debugID])
            let seen = Mutex<[UUID]>([])
            let again = SymbolicateAgain(postgres: app.postgres) { reports, _ in seen.withLock { $0 += reports } }
            try await again.rerunAll(DebugFiles.debugID, of: "app1") {}
            #expect(seen.withLock { $0.count == 150 && Set($0) == Set(reports) }, "each once")
            try await SymbolicateAgain.enqueueForgotten(app.postgres, app.service.symbols.files.queue)
            #expect(
                try await app.service.symbols.files.queue.unfinished(scope: "app1", kinds: [SymbolicateAgain.kind]) == 0
            )
            #expect(try await app.symbolRows("awaited_symbols") == 150)
            try await app.postgres.execute("UPDATE analytics.debug_files SET has_debug_information = TRUE")
            try await again.rerunAll(DebugFiles.debugID, of: "app1") {}
            #expect(try await app.symbolRows("awaited_symbols") == 0)
            #expect(await app.service.symbols.symbolicate(try event([frame(0xdba0)]), in: space).missing == [])
        }
    }

    @Test func `symbols that never arrive are forgotten`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            try await app.record([UUID(), UUID()], space, [DebugFiles.debugID])
            try await app.postgres.execute(
                "UPDATE analytics.awaited_symbols SET noted = now() - interval '91 days' WHERE event = (SELECT event FROM analytics.awaited_symbols LIMIT 1)"
            )
            try await app.service.symbols.sweep.tidy()
            #expect(try await app.symbolRows("awaited_symbols") == 1)
        }
    }
}

extension AnalyticsApp {
    /// Records the debug symbols that reports wait for, as `CrashDigester` does.
    func record(_ reports: [UUID], _ space: Space, _ debugIDs: [String]) async throws {
        try await postgres.withTransaction { transaction in
            try await service.symbols.awaited.record(
                reports.map { AwaitedSymbols.Report(id: $0, space: space.id, debugIDs: debugIDs) }, transaction)
        }
    }
}
