import NIOCore

/// Extracts a body from the bytes of a connection, using the framing that the head announced.
struct BodyDecoder {
    private enum Framing {
        case length(remaining: Int64)
        case chunked(ChunkedDecoder)
        case untilClose
    }

    private var framing: Framing

    static func length(_ length: Int64) -> BodyDecoder { BodyDecoder(framing: .length(remaining: length)) }
    static var chunked: BodyDecoder { BodyDecoder(framing: .chunked(ChunkedDecoder())) }
    static var untilClose: BodyDecoder { BodyDecoder(framing: .untilClose) }

    /// Whether the end of the connection is the end of the body.
    var endsAtClose: Bool {
        if case .untilClose = framing { true } else { false }
    }

    /// The bytes left of a body whose length was announced; nil for other bodies.
    var remaining: Int64? {
        if case .length(let remaining) = framing { remaining } else { nil }
    }

    /// Removes the next part from the front of `buffer`; nil if more bytes are needed.
    mutating func next(_ buffer: inout ByteBuffer) throws(Refusal) -> ChunkedDecoder.Part? {
        switch framing {
        case .length(let remaining):
            if remaining == 0 { return .end }
            let available = Int(min(remaining, Int64(buffer.readableBytes)))
            guard available > 0, let data = buffer.readSlice(length: available) else { return nil }
            framing = .length(remaining: remaining - Int64(available))
            return .data(data)
        case .chunked(var decoder):
            defer { framing = .chunked(decoder) }
            return try decoder.next(&buffer)
        case .untilClose:
            guard buffer.readableBytes > 0, let data = buffer.readSlice(length: buffer.readableBytes) else {
                return nil
            }
            return .data(data)
        }
    }
}
