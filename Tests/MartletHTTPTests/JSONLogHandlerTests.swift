import Foundation
import Logging
import MartletCore
import Testing

@testable import MartletHTTP

@Suite struct JSONLogHandlerTests {
    @Test(arguments: [
        "plain", #"quote " backslash \ "#, "line\nbreak\r\n\u{2028}", "\u{0}\u{1}\u{1f}\u{7f}",
        #"{"level":"critical"}"#, "🦉 é e\u{301}", "\",\"x\":\"",
        "\u{1b}[31mred", "",
    ]) func `every log entry is one line of valid JSON with its content`(_ text: String) throws {
        let lines = try logged { logger in
            logger.warning(
                "\(text)",
                metadata: [
                    "key": .string(text), "\(text).name": "x", "list": .array([.string(text), .array([])]),
                    "inner": .dictionary([text: .string(text)]), "number": .stringConvertible(-5),
                    "other": .stringConvertible(1.5),
                ])
        }
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f })
        guard case .object(let members) = try JSONValue(parsing: line.replacing(#"\u0000"#, with: #"\ue000"#).utf8)
        else {
            Issue.record("\(line)")
            return
        }
        let text = text.replacing("\0", with: "\u{e000}")
        let values = Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
        #expect(values["level"] == .string("warning"))
        #expect(values["service"] == .string("tests"))
        #expect(values["message"] == .string(text))
        #expect(values["key"] == .string(text))
        #expect(values["\(text).name"] == .string("x"))
        #expect(values["list"] == .array([.string(text), .array([])]))
        #expect(values["inner"] == .object([.init(text, .string(text))]))
        #expect(values["number"] == .number("-5"))
        #expect(values["other"] == .string("1.5"))
        guard case .string(let time) = values["time"] else {
            Issue.record("\(line)")
            return
        }
        #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    }

    @Test func `metadata of the call overrides the logger's of the same name`() throws {
        let line = try #require(
            try logged { logger in
                var logger = logger
                logger[metadataKey: "key"] = "logger"
                logger[metadataKey: "other"] = "kept"
                logger.warning("x", metadata: ["key": "call"])
            }.first)
        #expect(line.components(separatedBy: #""key":"#).count == 2)
        #expect(line.contains(#""key":"call""#))
        #expect(line.contains(#""other":"kept""#))
    }

    @Test func `entries below the level are not written`() throws {
        let lines = try logged { logger in
            logger.debug("no")
            logger.info("yes")
            logger.warning("flushed")
        }
        #expect(lines.count == 2)
        #expect(lines.first?.contains("yes") == true)
    }

    @Test(arguments: [
        (0.0, "1970-01-01T00:00:00.000Z"), (1_800_000_000.9999, "2027-01-15T08:00:00.999Z"),
        (1_709_164_799.001, "2024-02-28T23:59:59.001Z"),
        (1_709_164_800, "2024-02-29T00:00:00.000Z"),
    ])
    func `times are in RFC 3339 with milliseconds`(_ time: TimeInterval, _ text: String) {
        var bytes: [UInt8] = []
        Timestamp.append(Date(timeIntervalSince1970: time), to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    private func logged(_ body: (Logger) -> Void) throws -> [String] {
        let pipe = Pipe()
        let sink = LogSink(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        body(Logger(label: "t") { _ in JSONLogHandler(service: "tests", level: .info, sink: sink) })
        sink.flush()
        let data = pipe.fileHandleForReading.availableData
        return String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: true).map(
            String.init)
    }
}
