import Foundation
import MartletTesting
import Testing

/// PyPI's `soft-webauthn` in a process of its own, which exits when its standard input ends.
final class ForeignPasskeyDevice {
    /// A Python with the packages of `deploy/test-tools.txt` and `deploy/test-tools-alone.txt`.
    static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap { $0.isEmpty ? nil : $0 }

    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    init() throws {
        process.executableURL = URL(filePath: try #require(Self.python))
        process.arguments = [
            URL(filePath: #filePath).deletingLastPathComponent().appending(path: "passkey_device.py").path
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// - Parameter call: `create` or `get`.
    /// - Returns: The credential's JSON.
    func `do`(_ call: String, _ options: Answer, origin: String) throws -> String {
        try input.fileHandleForWriting.write(
            contentsOf: Data(#"{"do":"\#(call)","origin":"\#(origin)","options":\#(options.text)}"#.utf8 + [10]))
        var line = Data()
        while line.last != 10 {
            let more = output.fileHandleForReading.availableData
            try #require(!more.isEmpty, "the device has ended")
            line.append(more)
        }
        let text = String(decoding: line.dropLast(), as: UTF8.self)
        try #require(!text.hasPrefix(#"{"error""#), "\(text)")
        return text
    }
}
