import Foundation
public import Logging

/// Writes log lines as JSON objects: `{"time":…,"level":…,"service":…,"message":…`, then the metadata with keys as
/// given.
public struct JSONLogHandler: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    public var logLevel: Logger.Level

    private let service: String
    private let sink: LogSink

    public init(service: String, level: Logger.Level) {
        self.service = service
        self.logLevel = level
        self.sink = .standardError
    }

    init(service: String, level: Logger.Level, sink: LogSink) {
        self.service = service
        self.logLevel = level
        self.sink = sink
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var line: [UInt8] = []
        line.reserveCapacity(320)
        line.append(contentsOf: #"{"time":""#.utf8)
        Timestamp.append(Date(), to: &line)
        line.append(contentsOf: #"","level":""#.utf8)
        line.append(contentsOf: event.level.rawValue.utf8)
        line.append(contentsOf: #"","service":""#.utf8)
        line.append(contentsOf: service.utf8)
        line.append(contentsOf: #"","message":"#.utf8)
        Self.append(event.message.description, to: &line)
        let own = event.metadata ?? [:]
        let provided = metadataProvider?.get() ?? [:]
        for (key, value) in metadata where own[key] == nil && provided[key] == nil {
            Self.append(key, value, to: &line)
        }
        for (key, value) in provided where own[key] == nil { Self.append(key, value, to: &line) }
        for (key, value) in own { Self.append(key, value, to: &line) }
        line.append(contentsOf: "}\n".utf8)
        sink.write(line, flushing: event.level >= .warning)
    }

    private static func append(_ key: String, _ value: Logger.MetadataValue, to line: inout [UInt8]) {
        // Hummingbird's own id; Martlet logs `request.id`.
        if key == "hb.request.id" { return }
        line.append(UInt8(ascii: ","))
        append(key, to: &line)
        line.append(UInt8(ascii: ":"))
        append(value, to: &line)
    }

    private static func append(_ value: Logger.MetadataValue, to line: inout [UInt8]) {
        switch value {
        case .string(let text): append(text, to: &line)
        // Looking for the conformance of any other type takes longer.
        case .stringConvertible(let number as Int): line.append(contentsOf: number.description.utf8)
        case .stringConvertible(let number as any BinaryInteger): line.append(contentsOf: number.description.utf8)
        case .stringConvertible(let other): append(other.description, to: &line)
        case .array(let values):
            line.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { line.append(UInt8(ascii: ",")) }
                append(value, to: &line)
            }
            line.append(UInt8(ascii: "]"))
        case .dictionary(let members):
            line.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { line.append(UInt8(ascii: ",")) }
                append(member.key, to: &line)
                line.append(UInt8(ascii: ":"))
                append(member.value, to: &line)
            }
            line.append(UInt8(ascii: "}"))
        @unknown default: append("\(value)", to: &line)
        }
    }

    /// Appends a JSON string (RFC 8259 §7), so that logged text cannot start a line or object of its own.
    private static func append(_ text: String, to line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                line.append(UInt8(ascii: "\\"))
                line.append(byte)
            case 0..<0x20, 0x7f:
                let digits = Array("0123456789abcdef".utf8)
                line.append(contentsOf: #"\u00"#.utf8)
                line.append(digits[Int(byte >> 4)])
                line.append(digits[Int(byte & 15)])
            default: line.append(byte)
            }
        }
        line.append(UInt8(ascii: "\""))
    }
}
