import Foundation
import MartletCore
import MartletLocalization
import MartletTesting
import Testing

@Suite("Translation files as translate-toolkit reads them")
struct OtherReaderTests {
    private static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap {
        $0.isEmpty ? nil : $0
    }

    /// The keys of the file with the expected content: a text, or its forms in the order of the language.
    private static let cases: [(CatalogueFormat, [String: [String]])] = [
        (.strings, ["plain": [" Grüße, %1$@ 😀 "]]),
        (.stringsdict, ["dogs:plural": ["Kein Hund", "%lld Hund", "%lld Hunde"]]),
        (
            .xliff,
            [
                "plain": [" Grüße, %1$@ 😀 "], "dogs|==|plural.one": ["%lld Hund"], "dogs|==|plural.zero": ["Kein Hund"],
                "tap|==|device.mac": ["Klicken"],
            ]
        ),
        (.android, ["plain": [" Grüße, %1$s 😀 "]]),
        (.json, [".plain": [" Grüße, %1$@ 😀 "], ".dogs|==|plural.other": ["%lld Hunde"]]),
    ]

    @Test("each exported file has the expected texts", .enabled(if: python != nil), arguments: cases)
    func read(format: CatalogueFormat, expected: [String: [String]]) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(
            "martlet-\(UUID()).\(format.fileExtension)")
        defer { try? FileManager.default.removeItem(at: file) }
        let export = try format.write(try RoundTripTests.catalogue(), try RoundTripTests.options())
        try Data(export.bytes).write(to: file)
        let found = try JSONValue(parsing: try await Self.run(format, file.path))
        for (key, forms) in expected {
            let text: JSONValue? =
                switch found[key] {
                case .array(let read): .array(read.filter { $0 != .string("") })
                case let read: read
                }
            let expectedText: JSONValue = forms.count == 1 ? .string(forms[0]) : .array(forms.map { .string($0) })
            #expect(text == expectedText, "\(key): \(found.text)")
        }
    }

    private static func run(_ format: CatalogueFormat, _ path: String) async throws -> Data {
        let (python, name) = (Self.python ?? "", format.rawValue)
        let (data, status) = try await onOwnThread {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: python)
            process.arguments = [
                URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                    .appendingPathComponent("Support/read_exports.py").path,
                name, path,
            ]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (data, process.terminationStatus)
        }
        try #require(status == 0)
        return data
    }
}
