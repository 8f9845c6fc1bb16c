import MartletAPI

/// Parses one request head at a time, strictly (RFC 9112), from bytes that arrive in pieces of any size.
///
/// Each line is parsed once, when it is complete. A client that sends single bytes therefore costs no more than any
/// other, and a malformed line is refused without waiting for the rest. NIOHTTP1 is not used because llhttp accepts
/// folded lines and lone line feeds. A strict check in front of it would have to track bodies too and so be a second
/// parser, and the two could disagree. One strict parser is safer and, without a string per header, faster.
struct RequestParser {
    struct Limits {
        var headInBytes: Int
        var fieldCount: Int
        var targetInBytes: Int
    }

    private(set) var head = RequestHead()
    private let limits: Limits
    private var position = 0
    private var isPastRequestLine = false

    init(limits: Limits) {
        self.limits = limits
    }

    /// Whether no part of the next head has been parsed.
    var isFresh: Bool { position == 0 }

    /// Discards the head and prepares for the next one.
    mutating func reset() {
        head.reset()
        position = 0
        isPastRequestLine = false
    }

    /// Parses the lines that have arrived; returns the length of the head in bytes once it is complete, nil before.
    /// - Parameter bytes: All bytes received so far, starting with the first byte of the head.
    mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(Refusal) -> Int? {
        while let lineFeed = try FieldLines.lineFeed(in: bytes, from: position) {
            let start = position
            guard lineFeed < limits.headInBytes else { throw tooLarge }
            position = lineFeed + 1
            if !isPastRequestLine {
                try parseRequestLine(bytes, start, lineFeed - 1)
                isPastRequestLine = true
            } else if lineFeed - 1 == start {
                try finish()
                return position
            } else {
                try parseField(bytes, start, lineFeed)
            }
        }
        try checkUnfinishedLine(bytes)
        return nil
    }

    private var tooLarge: Refusal { Refusal(isPastRequestLine ? .headersTooLarge : .uriTooLong) }

    private func checkUnfinishedLine(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
        guard bytes.count < limits.headInBytes else { throw tooLarge }
        guard !isPastRequestLine else { return }
        guard bytes.count - position < limits.targetInBytes + 64 else { throw Refusal(.uriTooLong) }
        if let first = bytes.dropFirst(position).first, !ByteSet.token.contains(first), first != 0x0d {
            throw .malformed("The request line does not begin with a method.")
        }
    }

    private mutating func parseRequestLine(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) throws(Refusal) {
        var index = start
        while index < end, ByteSet.token.contains(bytes[index]) { index += 1 }
        guard index > start, index < end, bytes[index] == 0x20 else {
            throw .malformed("The request line is not valid.")
        }
        let method = Span(start: start, count: index - start)
        // " HTTP/1.x" is nine bytes. The number below is "HTTP/1." in little-endian order; the mask excludes the x.
        let targetEnd = end - 9
        guard targetEnd > index + 1, bytes[targetEnd] == 0x20,
            bytes.loadUnaligned(fromByteOffset: targetEnd + 1, as: UInt64.self) | 0xff << 56
                == (0x002e_312f_5054_5448 as UInt64) | 0xff << 56
        else {
            let claimsVersion =
                targetEnd > index && bytes[Span(start: targetEnd, count: 6)].elementsEqual(" HTTP/".utf8)
            throw claimsVersion
                ? Refusal(.versionNotSupported) : .malformed("The request line must name HTTP/1.0 or HTTP/1.1.")
        }
        let minor = bytes[end - 1] &- 0x30
        guard minor <= 1 else { throw Refusal(.versionNotSupported) }
        head.minor = minor
        head.keepsAlive = minor == 1
        head.target = Span(start: index + 1, count: targetEnd - index - 1)
        guard head.target.count <= limits.targetInBytes else { throw Refusal(.uriTooLong) }
        guard let known = Method(bytes[method]) else {
            throw Refusal(.notImplemented, "The request method is not supported.")
        }
        head.method = known
        (head.path, head.query) = try RequestTarget.split(bytes, head.target)
    }

    private mutating func parseField(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ lineFeed: Int) throws(Refusal) {
        let field = try FieldLines.field(in: bytes, from: start, lineFeed: lineFeed)
        guard head.fields.count < limits.fieldCount else { throw Refusal(.headersTooLarge) }
        if field.meaning != .other { try record(field, bytes) }
        head.fields.append(field)
    }

    private mutating func record(_ field: Field, _ bytes: UnsafeRawBufferPointer) throws(Refusal) {
        let index = head.fields.count
        switch field.meaning {
        case .host:
            try Self.once(&head.host, at: index)
            guard !field.value.isEmpty, ByteSet.host.containsAll(bytes[field.value]) else {
                throw .malformed("The Host header is not valid.")
            }
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
            recordConnectionOptions(bytes[field.value])
            head.connection = index
        case .expect:
            guard bytes[field.value].spells("100-continue") else { throw Refusal(.expectationFailed) }
            head.expectsContinue = true
        case .upgrade: head.upgrade = index
        case .secret: try Self.once(&head.secret, at: index)
        case .masterKey: try Self.once(&head.masterKey, at: index)
        case .environment: try Self.once(&head.environment, at: index)
        case .user: try Self.once(&head.user, at: index)
        case .authorization: try Self.once(&head.authorization, at: index)
        case .apiKey: try Self.once(&head.apiKey, at: index)
        case .sentryAuth: try Self.once(&head.sentryAuth, at: index)
        case .cookie: head.cookie = index
        case .dashboard: head.dashboard = index
        case .fetchSite: head.fetchSite = index
        case .requestID: head.requestID = index
        case .forwardedFor: head.forwardedFor = index
        case .traceparent: head.traceparent = head.traceparent == -1 ? index : -2
        case .origin: head.origin = index
        case .accessControlRequestMethod: head.accessControlRequestMethod = index
        case .accessControlRequestHeaders: head.accessControlRequestHeaders = index
        default: break
        }
    }

    @inline(__always)
    private static func once(_ slot: inout Int, at index: Int) throws(Refusal) {
        guard slot < 0 else { throw .malformed("A header that must be given once was repeated.") }
        slot = index
    }

    private mutating func recordConnectionOptions(_ value: UnsafeRawBufferPointer) {
        let options = ConnectionOptions(value)
        if options.close {
            head.keepsAlive = false
        } else if options.keepAlive, head.connection < 0 {
            head.keepsAlive = true
        }
        if options.upgrade { head.connectionNamesUpgrade = true }
        if options.others { head.connectionNamesFields = true }
    }

    private func finish() throws(Refusal) {
        if head.isChunked {
            guard head.contentLength == nil else {
                throw .malformed("Content-Length and Transfer-Encoding exclude each other.")
            }
            guard head.minor == 1 else { throw .malformed("HTTP/1.0 has no Transfer-Encoding.") }
        }
        guard head.host >= 0 || head.minor == 0 else { throw .malformed("The Host header is missing.") }
    }
}
