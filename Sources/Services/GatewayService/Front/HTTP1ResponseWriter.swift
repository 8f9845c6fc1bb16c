import NIOCore

/// Serializes one response as HTTP/1.1 for a client, with framing that its version supports.
struct HTTP1ResponseWriter {
    /// Announced in the head, so set it before the head is written.
    var closesConnection = false
    private(set) var expectsContinue = false

    private var minor: UInt8 = 1
    private var isHead = false
    private var isChunked = false

    /// Bodies up to this size are appended to the pending bytes, which is cheaper than another entry in a vectored
    /// write.
    private static let maximumCopiedBytes = 8 * 1024

    mutating func begin(_ request: RequestHead) {
        closesConnection = !request.keepsAlive
        expectsContinue = request.expectsContinue && request.minor == 1
        minor = request.minor
        isHead = request.method == .head
        isChunked = false
    }

    mutating func write(
        _ head: ResponseHead, _ bytes: UnsafeRawBufferPointer, of exchange: Exchange, to buffer: inout ByteBuffer
    ) {
        let isUpgrade = head.status == 101
        let hasBody = !isHead && !isUpgrade && head.status != 204 && head.status != 304
        isChunked = hasBody && head.contentLength == nil && minor == 1
        if hasBody, head.contentLength == nil, minor == 0 { closesConnection = true }
        let origin = exchange.origin
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: bytes.count + corsBytes(exchange) + 512) { memory in
            var writer = HeadWriter(memory)
            writer.write("HTTP/1.1 ")
            writer.write(bytes[head.statusText])
            writer.write("\r\n")
            writer.write(head.fields, of: bytes) { field in
                head.forwards(field, bytes, hasOrigin: origin != nil) || (isUpgrade && field.meaning == .upgrade)
            }
            if isUpgrade { writer.write("connection: upgrade\r\n") } else { writeConnection(&writer) }
            if isChunked { writer.write("transfer-encoding: chunked\r\n") }
            writeOwn(&writer, exchange)
            return writer.count
        }
    }

    mutating func write(_ answer: Answer, of exchange: Exchange, to buffer: inout ByteBuffer) {
        let own = answer.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        let bound = own + answer.body.count + corsBytes(exchange) + 512
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: bound) { memory in
            var writer = HeadWriter(memory)
            writer.write("HTTP/1.1 ")
            writer.write(Int64(answer.status))
            writer.write(" ")
            writer.write(reasonPhrase(answer.status))
            writer.write("\r\n")
            for (name, value) in answer.headers {
                writer.write(name)
                writer.write(": ")
                writer.write(value)
                writer.write("\r\n")
            }
            if answer.hasLength {
                writer.write("content-length: ")
                writer.write(Int64(answer.body.count))
                writer.write("\r\n")
            }
            writeConnection(&writer)
            writeOwn(&writer, exchange)
            if !isHead { writer.write(answer.body) }
            return writer.count
        }
    }

    /// Whether to copy the body into `out` instead of writing it separately.
    func copies(_ body: ByteBuffer, after out: ByteBuffer) -> Bool {
        body.readableBytes <= Self.maximumCopiedBytes && out.readableBytes <= 4 * Self.maximumCopiedBytes
    }

    func write(_ body: ByteBuffer, to buffer: inout ByteBuffer) {
        writeChunkStart(body.readableBytes, to: &buffer)
        buffer.writeImmutableBuffer(body)
        writeChunkEnd(to: &buffer)
    }

    func writeChunkStart(_ size: Int, to buffer: inout ByteBuffer) {
        guard isChunked else { return }
        buffer.writeString(String(size, radix: 16))
        buffer.writeStaticString("\r\n")
    }

    func writeChunkEnd(to buffer: inout ByteBuffer) {
        if isChunked { buffer.writeStaticString("\r\n") }
    }

    func writeEnd(to buffer: inout ByteBuffer) {
        if isChunked { buffer.writeStaticString("0\r\n\r\n") }
    }

    private func writeConnection(_ writer: inout HeadWriter) {
        if closesConnection {
            writer.write("connection: close\r\n")
        } else if minor == 0 {
            writer.write("connection: keep-alive\r\n")
        }
    }

    /// Upper bound for the size of the CORS header values.
    private func corsBytes(_ exchange: Exchange) -> Int {
        exchange.origin.map { $0.utf8.count + Preflight.exposedHeaders.utf8.count } ?? 0
    }

    private func writeOwn(_ writer: inout HeadWriter, _ exchange: Exchange) {
        writer.write("x-request-id: ")
        writer.write(exchange.requestID)
        if let origin = exchange.origin {
            writer.write("\r\naccess-control-allow-origin: ")
            writer.write(origin)
            writer.write("\r\naccess-control-expose-headers: ")
            writer.write(Preflight.exposedHeaders)
            writer.write("\r\nvary: origin")
        }
        writer.write("\r\n\r\n")
    }
}

extension ResponseHead {
    /// Whether a field of the upstream's response is forwarded to the client.
    @inline(__always)
    func forwards(_ field: Field, _ bytes: UnsafeRawBufferPointer, hasOrigin: Bool) -> Bool {
        switch field.meaning {
        case .other: !connectionNamesFields || !fields.connectionNames(bytes[field.name], in: bytes)
        case .contentLength: true
        case .server, .requestID, .secret, .masterKey, .environment, .user, .otherMartlet: false
        case .accessControlAnswer, .accessControlRequestMethod, .accessControlRequestHeaders: !hasOrigin
        default: !field.meaning.isHopByHop
        }
    }
}
