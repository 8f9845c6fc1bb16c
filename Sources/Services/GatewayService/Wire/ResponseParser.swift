import MartletAPI
import NIOCore

/// A parsed response head. Spans refer to the bytes it was parsed from.
struct ResponseHead {
    var status = 0
    /// HTTP/1.`minor`.
    var minor: UInt8 = 1
    /// Status code and reason phrase as sent: `200 OK`.
    var statusText = Span.none
    var fields: [Field] = []
    var contentLength: Int64?
    var isChunked = false
    var keepsAlive = true
    var connectionNamesFields = false

    /// How long the service waited for others before it answered; zero unless it says so.
    func waited(in bytes: UnsafeRawBufferPointer) -> TimeAmount {
        for field in fields where field.meaning == .otherMartlet && bytes[field.name].spells("x-martlet-waited") {
            return .microseconds(min(FieldLines.contentLength(bytes[field.value]) ?? 0, 3_600_000_000))
        }
        return .zero
    }

    mutating func reset() {
        var fields = self.fields
        self.fields = []
        fields.removeAll(keepingCapacity: true)
        self = ResponseHead()
        self.fields = fields
    }
}

/// Parses one response head at a time, as strictly as `RequestParser`: a faulty upstream is as dangerous as a hostile
/// client.
struct ResponseParser {
    private(set) var head = ResponseHead()
    private let maximumHeadBytes: Int
    private var position = 0

    init(maximumHeadBytes: Int) {
        self.maximumHeadBytes = maximumHeadBytes
    }

    mutating func reset() {
        head.reset()
        position = 0
    }

    /// Parses the lines that have arrived; returns the length of the head once it is complete, nil before.
    /// - Throws: `malformedRequest` for anything that is not HTTP; the caller answers 502.
    mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(Refusal) -> Int? {
        while let lineFeed = try FieldLines.lineFeed(in: bytes, from: position) {
            let start = position
            position = lineFeed + 1
            if start == 0 {
                try parseStatusLine(bytes, lineFeed - 1)
            } else if lineFeed - 1 == start {
                guard !head.isChunked || head.contentLength == nil else {
                    throw .malformed("Content-Length and Transfer-Encoding exclude each other.")
                }
                return position
            } else {
                try parseField(bytes, start, lineFeed)
            }
        }
        guard bytes.count < maximumHeadBytes else { throw .malformed("The response head is too large.") }
        return nil
    }

    private mutating func parseStatusLine(_ bytes: UnsafeRawBufferPointer, _ end: Int) throws(Refusal) {
        guard end >= 12, bytes[Span(start: 0, count: 7)].elementsEqual("HTTP/1.".utf8), bytes[8] == 0x20,
            let status = FieldLines.contentLength(bytes[Span(start: 9, count: 3)]), (100...599).contains(status),
            end == 12 || bytes[12] == 0x20
        else { throw .malformed("The status line is not valid.") }
        head.minor = bytes[7] &- 0x30
        head.keepsAlive = head.minor == 1
        head.status = Int(status)
        head.statusText = Span(start: 9, count: end - 9)
    }

    private mutating func parseField(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ lineFeed: Int) throws(Refusal) {
        let field = try FieldLines.field(in: bytes, from: start, lineFeed: lineFeed)
        guard head.fields.count < 256 else { throw .malformed("Too many headers.") }
        switch field.meaning {
        case .contentLength:
            guard head.contentLength == nil, let length = FieldLines.contentLength(bytes[field.value]) else {
                throw .malformed("Content-Length must be given once, in digits.")
            }
            head.contentLength = length
        case .transferEncoding:
            guard !head.isChunked, bytes[field.value].spells("chunked") else {
                throw .malformed("Transfer-Encoding may only be chunked, given once.")
            }
            head.isChunked = true
        case .connection:
            let options = ConnectionOptions(bytes[field.value])
            if options.close { head.keepsAlive = false } else if options.keepAlive { head.keepsAlive = true }
            if options.others { head.connectionNamesFields = true }
        default: break
        }
        head.fields.append(field)
    }
}
