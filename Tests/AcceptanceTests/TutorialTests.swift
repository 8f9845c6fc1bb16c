import Foundation
import MartletKit
import Testing

@testable import ExampleApps

/// `docs/tutorials/sportlook.md` shows code of the example, and its program does what it says.
@Suite("Tutorial") struct TutorialTests {
    private static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `the Swift code of the tutorial is in the example`() throws {
        let known = try Self.exampleLines()
        let document = try Self.lines(of: Self.root.appendingPathComponent("docs/tutorials/sportlook.md"))
        var isCode = false
        var count = 0
        for line in document {
            if line.hasPrefix("```") {
                isCode = line == "```swift"
            } else if isCode, !line.isEmpty {
                count += 1
                #expect(known.contains(line), "not in the example: \(line)")
            }
        }
        #expect(count > 80)
    }

    @Test func `the Swift code of DocC's tutorial is in the example, too`() throws {
        let known = try Self.exampleLines()
        let folder = Self.root.appendingPathComponent("Sources/MartletKit/MartletKit.docc/Resources")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).filter {
            $0.pathExtension == "swift"
        }
        let tutorial = try String(
            contentsOf: folder.appendingPathComponent("../Tutorials/BuildingSportLook.tutorial"), encoding: .utf8)
        for file in files {
            #expect(tutorial.contains("file: \"\(file.lastPathComponent)\""), "no step shows \(file.lastPathComponent)")
            for line in try Self.lines(of: file) where !line.isEmpty {
                #expect(known.contains(line), "not in the example: \(line)")
            }
        }
        #expect(files.count == tutorial.components(separatedBy: "@Code(").count - 1)
    }

    private static func exampleLines() throws -> Set<String> {
        let folder = root.appendingPathComponent("Sources/Examples/ExampleApps/SportLook")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return Set(try files.filter { $0.pathExtension == "swift" }.flatMap { try lines(of: $0) })
    }

    private static func lines(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }

    @Test func `the tutorial's program prints what the tutorial shows`() async throws {
        let app = try await SportLook.setUp(Acceptance.developer(), Simulators(push: nil, provider: nil))
        let folder = Scratch.folder()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("connection.json")
        let connection: JSON = [
            "url": .string(app.url.absoluteString), "appKey": .string(app.appKey), "secret": .string(app.key("secret")),
        ]
        try connection.data.write(to: file)
        var said: [String] = []
        try await Meeting.run(file) { said.append($0) }
        #expect(
            said.dropFirst(2) == [
                "Near Ben: Tennis", "Ben cannot chat yet: forbidden", #"Ben's chat: ["I have tennis balls"]"#,
                #"Ben's chat: ["I have tennis balls", "See you there"]"#,
            ])
    }
}
