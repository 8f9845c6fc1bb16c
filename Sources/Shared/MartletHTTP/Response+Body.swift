public import Hummingbird
public import NIOCore

extension Response {
    /// The body of an answer that is already in memory.
    public func wholeBody() async throws -> ByteBuffer {
        let collected = BodyCollector.Box()
        try await body.write(BodyCollector(box: collected))
        return collected.buffer
    }

    /// The same response, neither cached nor compressed, because it contains a secret.
    public var notStored: Response {
        var response = self
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

private struct BodyCollector: ResponseBodyWriter {
    final class Box {
        var buffer = ByteBuffer()
    }

    let box: Box

    mutating func write(_ buffer: ByteBuffer) async throws {
        if box.buffer.readableBytes == 0 { box.buffer = buffer } else { box.buffer.writeImmutableBuffer(buffer) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
