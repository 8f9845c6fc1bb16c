import Foundation
import Testing

/// On Linux, the compiler does not check which version of Apple's systems an API needs.
struct OldestSystemsTests {
    /// Names that need a later system than iOS 15, macOS 12 and watchOS 8.
    private static let newer = [
        "trimmingPrefix(", ".firstRange(of:", ".ranges(of:", ".replacing(", ".appending(path", ".appending(component",
        "URL(filePath:", ".host()", ".path()", "ContinuousClock", "SuspendingClock", "Duration.",
        ".sleep(for:", ".sleep(until:", "Regex<", "RegexBuilder", "Mutex<", "Atomic<", "Synchronization", "Observation",
        "DiscardingTaskGroup", "RangeSet", "InlineArray", "Locale.Language", "TimeZone.gmt", "StaticBigInt",
    ]

    @Test(arguments: [
        "MartletKit", "MartletScreens", "MartletLocalFlags", "Contract/MartletFlagValues", "Contract/MartletLogic",
        "Contract/MartletPlurals", "MartletKitSignals",
    ])
    func `what apps link uses no API that their oldest systems lack`(folder: String) throws {
        let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let sources = FileManager.default.enumerator(
            at: root.appendingPathComponent("Sources/" + folder), includingPropertiesForKeys: nil)
        var count = 0
        for case let file as URL in try #require(sources) where ["swift", "c"].contains(file.pathExtension) {
            count += 1
            let code = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n").filter {
                !$0.trimmingCharacters(in: .whitespaces).hasPrefix("//")
            }.joined(separator: "\n")
            for name in Self.newer { #expect(!code.contains(name), "\(file.lastPathComponent) uses \(name)") }
        }
        #expect(count > 0)
    }
}
