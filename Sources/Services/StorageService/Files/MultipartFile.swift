import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP
import NIOCore

/// The one file in a `multipart/form-data` body, as a stream.
///
/// `@unchecked Sendable`: read by one task, once.
final class MultipartFile: AsyncSequence, @unchecked Sendable {
    private static let maximumFieldLength = 64 << 10

    let fileName: String
    let contentType: String?
    private var parser: MultipartParser
    private var body: CompleteBody.Iterator

    /// Whether a body of this type has its file inside.
    static func isMultipart(_ request: Request) -> Bool {
        request.headers[.contentType]?.lowercased().hasPrefix("multipart/form-data") ?? false
    }

    /// Reads up to the file; fields before it are skipped.
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
                // Some clients send the whole of a path.
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
        throw Self.problem("there is no file in it")
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

    /// The file is whole only when the body ends with its last boundary; a second file would be lost silently.
    private func finish() async throws {
        while let event = try await Self.next(&parser, &body) {
            if case .part(.some, _) = event { throw Self.problem("there is more than one file in it") }
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

    private static func problem(_ reason: String) -> HTTPProblem {
        HTTPProblem(.invalidBody, "This is not a multipart/form-data body with one file: \(reason).")
    }
}
