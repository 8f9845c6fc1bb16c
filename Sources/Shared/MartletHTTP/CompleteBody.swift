public import Hummingbird
import MartletAPI
import MartletCore
public import NIOCore

/// A request's body, which must have exactly the length in `Content-Length`.
///
/// The framework treats the end of a connection as the end of the body, so half a file would be stored as a complete
/// one.
public struct CompleteBody: AsyncSequence, Sendable {
    let body: RequestBody
    let length: Int?

    /// - Throws: `payload-too-large`, before anything is read.
    public init(_ request: Request, limitInBytes: Int) throws {
        body = request.body
        length = request.headers[.contentLength].flatMap { Int($0) }
        guard (length ?? 0) <= limitInBytes else {
            throw ServiceError(.payloadTooLarge, "A file may have at most \(limitInBytes) bytes here.")
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(iterator: body.makeAsyncIterator(), missing: length) }

    public struct Iterator: AsyncIteratorProtocol {
        var iterator: RequestBody.AsyncIterator
        var missing: Int?

        public mutating func next() async throws -> ByteBuffer? {
            guard let portion = try await iterator.next() else {
                guard missing ?? 0 == 0 else {
                    throw ServiceError(.malformedRequest, "The body ended before its Content-Length was reached.")
                }
                return nil
            }
            missing = missing.map { $0 - portion.readableBytes }
            return portion
        }
    }
}
