import Foundation
public import NIOCore

/// Parses a `multipart/form-data` body (RFC 7578) incrementally: feed it portions and read events.
///
/// Buffers at most a part's headers or the length of a boundary.
public struct MultipartParser {
    public enum Event: Equatable {
        /// The start of a part. `fileName` is nil for a form field.
        case part(fileName: String?, contentType: String?)
        case data(ByteBuffer)
        case endOfPart
        case end
    }

    public struct Malformed: Error {
        /// Completes a sentence.
        public var reason: String

        public init(reason: String) {
            self.reason = reason
        }
    }

    private static let maximumHeaderLength = 8_192

    private enum State {
        case preamble, headers, data, epilogue
    }

    /// CRLF, two hyphens and the boundary.
    private let delimiter: [UInt8]
    private var state = State.preamble
    private var buffer: ByteBuffer

    /// - Parameter contentType: The body's `Content-Type`, which contains the boundary of 1 to 70 characters (RFC 2046
    ///   §5.1.1).
    /// - Throws: `Malformed`.
    public init(contentType: String) throws(Malformed) {
        guard let start = contentType.range(of: "; *boundary=", options: [.regularExpression, .caseInsensitive]) else {
            throw Malformed(reason: "its Content-Type has no boundary")
        }
        let value = contentType[start.upperBound...]
        let boundary =
            value.first == "\"" ? value.dropFirst().prefix { $0 != "\"" } : value.prefix { $0 != ";" && $0 != " " }
        guard (1...70).contains(boundary.utf8.count) else {
            throw Malformed(reason: "its boundary must have 1 to 70 characters")
        }
        self.init(boundary: String(boundary))
    }

    /// - Parameter boundary: 1 to 70 characters.
    public init(boundary: String) {
        delimiter = Array(("\r\n--" + boundary).utf8)
        // No line precedes the first boundary.
        buffer = ByteBuffer(string: "\r\n")
    }

    /// Whether the last boundary has been read.
    public var isAtEnd: Bool { state == .epilogue }

    public mutating func feed(_ portion: ByteBuffer) {
        buffer.discardReadBytes()
        buffer.writeImmutableBuffer(portion)
    }

    /// The next event; nil when more bytes are needed.
    public mutating func next() throws -> Event? {
        switch state {
        case .preamble:
            guard let (before, isLast) = try delimiterLine(limit: Self.maximumHeaderLength) else { return nil }
            guard before == 0 else { throw Malformed(reason: "the body does not begin with its boundary") }
            state = isLast ? .epilogue : .headers
            return isLast ? .end : try next()
        case .headers: return try headers()
        case .data: return try data()
        case .epilogue:
            buffer.clear()
            return nil
        }
    }

    private mutating func headers() throws -> Event? {
        let view = buffer.readableBytesView
        guard let end = Self.position(of: Array("\r\n\r\n".utf8), in: buffer) else {
            guard view.count <= Self.maximumHeaderLength else {
                throw Malformed(reason: "a part's headers are too long")
            }
            return nil
        }
        guard end <= Self.maximumHeaderLength, let text = buffer.readString(length: end) else {
            throw Malformed(reason: "a part's headers are too long")
        }
        buffer.moveReaderIndex(forwardBy: 4)
        state = .data
        var (fileName, contentType, isFormData) = (String?.none, String?.none, false)
        for line in text.components(separatedBy: "\r\n") {
            guard let colon = line.firstIndex(of: ":") else {
                throw Malformed(reason: "a part has a header without a colon")
            }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            switch line[..<colon].lowercased() {
            case "content-disposition":
                isFormData = value.lowercased().hasPrefix("form-data")
                fileName = Self.parameter("filename", of: value)
            case "content-type": contentType = value
            default: break
            }
        }
        guard isFormData else { throw Malformed(reason: "a part is not form-data") }
        return .part(fileName: fileName, contentType: contentType)
    }

    private mutating func data() throws -> Event? {
        if let position = Self.position(of: delimiter, in: buffer) {
            if position > 0 { return buffer.readSlice(length: position).map { .data($0) } }
            guard let (_, isLast) = try delimiterLine(limit: 1_024) else { return nil }
            state = isLast ? .epilogue : .headers
            return .endOfPart
        }
        // Hold back bytes that could be the beginning of a boundary.
        let safe = buffer.readableBytes - delimiter.count
        guard safe > 0 else { return nil }
        return buffer.readSlice(length: safe).map { .data($0) }
    }

    /// Reads a boundary and its line end; returns the number of bytes before it and whether it was the last.
    private mutating func delimiterLine(limit: Int) throws -> (before: Int, isLast: Bool)? {
        guard let position = Self.position(of: delimiter, in: buffer) else {
            guard buffer.readableBytes <= limit else { throw Malformed(reason: "a boundary is missing") }
            return nil
        }
        let delimiterEnd = buffer.readerIndex + position + delimiter.count
        guard let two = buffer.getBytes(at: delimiterEnd, length: 2) else { return nil }
        guard two == Array("\r\n".utf8) || two == Array("--".utf8) else {
            throw Malformed(reason: "a boundary is followed by other characters")
        }
        buffer.moveReaderIndex(to: delimiterEnd + 2)
        return (position, two == Array("--".utf8))
    }

    /// Reads a parameter of `form-data; name="file"; filename="a.jpg"`, with quotes and percent signs escaped as
    /// browsers do (WHATWG HTML, multipart/form-data).
    private static func parameter(_ name: String, of value: String) -> String? {
        guard let start = value.range(of: "; *\(name)=\"", options: [.regularExpression, .caseInsensitive]) else {
            return nil
        }
        var text = ""
        var rest = value[start.upperBound...]
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let next = rest.first, next == "\"" || next == "\\" {
                text.append(rest.removeFirst())
            } else {
                text.append(character)
            }
        }
        return text.replacingOccurrences(of: "%22", with: "\"")
    }

    private static func position(of pattern: [UInt8], in buffer: ByteBuffer) -> Int? {
        buffer.withUnsafeReadableBytes { bytes in
            guard bytes.count >= pattern.count, let base = bytes.baseAddress else { return nil }
            var index = 0
            while index <= bytes.count - pattern.count {
                guard let found = memchr(base + index, Int32(pattern[0]), bytes.count - pattern.count - index + 1)
                else { return nil }
                index = UnsafeRawPointer(found) - base
                if memcmp(base + index, pattern, pattern.count) == 0 { return index }
                index += 1
            }
            return nil
        }
    }
}
