import Foundation
import MartletFiles
import MartletTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService

@Suite struct DemanglerTests {
    private func withDemangler(_ program: String?, _ body: (Demangler) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "martlet-demangler-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let cache = DebugFileCache(
            backend: LocalFiles(directory: folder + "/files"), directory: folder + "/cache", maximumSizeInBytes: 1 << 20
        )
        try await body(Demangler(program: program, cache: cache, time: .seconds(120), logger: .silent))
    }

    @Test(.enabled(if: SymbolSettings().demangler != nil))
    func `Swift names are demangled, others stay unchanged, and the order is kept`() async throws {
        let names = [
            "$s4main3fooyyF", "main", "_$s4main3BarC3baz3quxS2i_tF", "$s4main3fooyyF", "_ZN3foo3barEv", "$s",
            "$s with blanks", "", "$s\n$s4main3fooyyF",
        ]
        try await withDemangler(SymbolSettings().demangler) { demangler in
            for _ in 0..<2 {
                let readable = await demangler.readable(names)
                #expect(
                    readable == [
                        "foo()", "main", "Bar.baz(qux:)", "foo()", "_ZN3foo3barEv", "$s", "$s with blanks", "",
                        "$s\n$s4main3fooyyF",
                    ])
            }
            let none = await demangler.readable([])
            #expect(none == [])
        }
    }

    @Test(.enabled(if: SymbolSettings().demangler != nil)) func `random names are harmless`() async throws {
        var generator = SeededGenerator(state: 3)
        let letters = Array("sSTyFCVOD0123456789abxWl_QRztfmcGI")
        let names = (0..<1_500).map { _ in
            "$s"
                + String(
                    (0..<Int.random(in: 0...60, using: &generator)).map { _ in letters.randomElement(using: &generator)!
                    })
        }
        try await withDemangler(SymbolSettings().demangler) { demangler in
            let readable = await demangler.readable(names + ["$s4main3fooyyF"])
            #expect(readable.last == "foo()" && readable.count == names.count + 1)
        }
    }

    /// The program exits at a name that contains `bad`.
    @Test func `a name that crashes the program does not affect other names`() async throws {
        let folder = NSTemporaryDirectory() + "martlet-demangler-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let program = folder + "/demangler"
        try "#!/bin/sh\ncat > copy\nif grep -q bad copy; then kill -SEGV $$; fi\nsed 's/^.s/read /' copy\n".write(
            toFile: program, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        try await withDemangler(program) { demangler in
            let names = (0..<20).map { $0 == 7 ? "$sbad" : "$s\($0)" }
            let readable = await demangler.readable(names)
            #expect(readable == (0..<20).map { $0 == 7 ? "$sbad" : "read \($0)" })
        }
    }
}
