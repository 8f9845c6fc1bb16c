import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// The only file in a `multipart/form-data` body, as a stream.
///
/// `@unchecked Sendable`: it must be read once, by a single task.
final class MultipartFile: AsyncSequence, @unchecked Sendable {
    private static let maximumFieldLength = 64 << 10

    let fileName: String
    let contentType: String?
    private var parser: MultipartParser
    private var body: CompleteBody.Iterator

    /// Whether the request's body is of this type.
    static func isMultipart(_ request: Request) -> Bool {
        request.headers[.contentType]?.lowercased().hasPrefix("multipart/form-data") ?? false
    }

    /// Reads up to the start of the file and skips fields before it.
    ///
    /// - Throws: `invalid-body`.
    init(_ request: Request, _ body: CompleteBody) async throws {
        do {
            parser = try MultipartParser(contentType: request.headers[.contentType] ?? "")
        } catch {
            throw Self.problem(error.reason)
        }
        self.body = body.makeAsyncIterator()
        var skipped = 0
        while let event = try await Self.next(&parser, &self.body) {
            switch event {
            case .part(let fileName?, let contentType):
                // Some clients send a complete path.
                self.fileName = fileName.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
                self.contentType = contentType
                return
            case .data(let portion):
                skipped += portion.readableBytes
                guard skipped <= Self.maximumFieldLength else {
                    throw Self.problem("the fields before the file are too long")
                }
            case .part, .endOfPart, .end: break
            }
        }
        throw Self.problem("it contains no file")
    }

    func makeAsyncIterator() -> Iterator { Iterator(file: self) }

    struct Iterator: AsyncIteratorProtocol {
        let file: MultipartFile

        mutating func next() async throws -> ByteBuffer? {
            guard case .data(let portion)? = try await MultipartFile.next(&file.parser, &file.body) else {
                try await file.finish()
                return nil
            }
            return portion
        }
    }

    /// Checks that the body ends with its last boundary, without which the file is incomplete, and has no second file,
    /// which would be lost silently.
    private func finish() async throws {
        while let event = try await Self.next(&parser, &body) {
            if case .part(.some, _) = event { throw Self.problem("it contains more than one file") }
        }
    }

    private static func next(_ parser: inout MultipartParser, _ body: inout CompleteBody.Iterator) async throws
        -> MultipartParser.Event?
    {
        do {
            while true {
                if let event = try parser.next() { return event }
                guard let portion = try await body.next() else {
                    guard parser.isAtEnd else { throw problem("it ends without its last boundary") }
                    return nil
                }
                parser.feed(portion)
            }
        } catch let error as MultipartParser.Malformed {
            throw problem(error.reason)
        }
    }

    private static func problem(_ reason: String) -> ServiceError {
        ServiceError(.invalidBody, "Expected a multipart/form-data body with one file: \(reason).")
    }
}
