import MartletAPI
import NIOCore

/// Decodes a chunked body (RFC 9112 §7.1) strictly and without copying data.
///
/// Lines must end in CRLF. Chunk extensions (at most 256 bytes per chunk) and trailers are validated and dropped. Only
/// the data passes through: the gateway frames a forwarded body itself.
struct ChunkedDecoder {
    enum Part {
        case data(ByteBuffer)
        case end
    }

    private enum State {
        case size
        case data(remaining: Int64)
        case dataEnd
        case trailer
        case done
    }

    private static let maximumLineBytes = 16 + 256
    private static let maximumTrailerBytes = 8192

    private var state = State.size
    private var trailerBytes = 0

    /// Removes the next part of the body from the front of `buffer`; nil if more bytes are needed.
    mutating func next(_ buffer: inout ByteBuffer) throws(Refusal) -> Part? {
        while true {
            switch state {
            case .size:
                guard let size = try takeSize(&buffer) else { return nil }
                state = size == 0 ? .trailer : .data(remaining: size)
            case .data(let remaining):
                let available = min(Int(remaining), buffer.readableBytes)
                guard available > 0, let data = buffer.readSlice(length: available) else { return nil }
                state = remaining == available ? .dataEnd : .data(remaining: remaining - Int64(available))
                return .data(data)
            case .dataEnd:
                guard try takeDataEnd(&buffer) else { return nil }
                state = .size
            case .trailer:
                guard let isLast = try takeTrailerLine(&buffer) else { return nil }
                if isLast {
                    state = .done
                    return .end
                }
            case .done:
                return nil
            }
        }
    }

    private func takeSize(_ buffer: inout ByteBuffer) throws(Refusal) -> Int64? {
        let line = try Self.line(in: buffer, limit: Self.maximumLineBytes)
        guard let line else { return nil }
        let size = Self.size(buffer, line)
        guard let size else { throw .malformed("A chunk size is not valid.") }
        buffer.moveReaderIndex(forwardBy: line + 2)
        return size
    }

    private func takeDataEnd(_ buffer: inout ByteBuffer) throws(Refusal) -> Bool {
        let start = buffer.readerIndex
        if buffer.readableBytes >= 1, buffer.getInteger(at: start, as: UInt8.self) != 0x0d {
            throw .malformed("A chunk must end in CRLF.")
        }
        guard buffer.readableBytes >= 2 else { return false }
        guard buffer.getInteger(at: start + 1, as: UInt8.self) == 0x0a else {
            throw .malformed("A chunk must end in CRLF.")
        }
        buffer.moveReaderIndex(forwardBy: 2)
        return true
    }

    /// Takes one trailer line; true if it was the empty line that ends the trailers, nil if more bytes are needed.
    private mutating func takeTrailerLine(_ buffer: inout ByteBuffer) throws(Refusal) -> Bool? {
        guard let line = try Self.line(in: buffer, limit: Self.maximumTrailerBytes - trailerBytes) else { return nil }
        if line > 0 { try Self.checkField(buffer, line) }
        trailerBytes += line + 2
        buffer.moveReaderIndex(forwardBy: line + 2)
        return line == 0
    }

    /// The length of the first line without its CRLF; nil if the line is incomplete.
    private static func line(in buffer: ByteBuffer, limit: Int) throws(Refusal) -> Int? {
        let result = buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(Refusal) in
                guard let lineFeed = try FieldLines.lineFeed(in: bytes, from: 0) else {
                    guard bytes.count <= limit else { throw .malformed("A chunk line is too long.") }
                    return nil as Int?
                }
                guard lineFeed - 1 <= limit else { throw .malformed("A chunk line is too long.") }
                return lineFeed - 1
            }
        }
        return try result.get()
    }

    private static func checkField(_ buffer: ByteBuffer, _ line: Int) throws(Refusal) {
        let result = buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(Refusal) in _ = try FieldLines.field(in: bytes, from: 0, lineFeed: line + 1) }
        }
        try result.get()
    }

    /// Parses up to 15 hexadecimal digits, optionally followed by an extension of visible characters, spaces and tabs.
    private static func size(_ buffer: ByteBuffer, _ line: Int) -> Int64? {
        buffer.withUnsafeReadableBytes { bytes in
            var size: Int64 = 0
            var index = 0
            while index < line, let digit = hexadecimal(bytes[index]) {
                guard index < 15 else { return nil }
                size = size << 4 | Int64(digit)
                index += 1
            }
            guard index > 0, index == line || bytes[index] == UInt8(ascii: ";") else { return nil }
            let isClean = bytes[index..<line].allSatisfy { $0 == 0x09 || (0x20...0x7e).contains($0) }
            return isClean ? size : nil
        }
    }
}
