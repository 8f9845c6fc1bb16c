public import HTTPTypes
public import Hummingbird
import Foundation
import MartletAPI
import MartletCore
import NIOCore

extension Request {
    /// The whole body. What of it is more than `RequestMemory.smallSizeInBytes` counts against the process's budget of bodies, as it comes.
    ///
    /// - Throws: `payload-too-large` beyond `limitInBytes`, `unavailable`.
    public func wholeBody(upTo limitInBytes: Int) async throws -> ByteBuffer {
        let length = headers[.contentLength].flatMap { Int($0) } ?? 0
        guard length <= limitInBytes else { throw Self.tooLarge(limitInBytes) }
        var whole = ByteBuffer()
        var room = RequestMemory.smallSizeInBytes
        for try await portion in body {
            let size = whole.readableBytes + portion.readableBytes
            guard size <= limitInBytes else { throw Self.tooLarge(limitInBytes) }
            if size > room, let memory = RequestMemory.current {
                // As `ByteBuffer` grows.
                let step = max(room, size - room)
                try await memory.reserveBody(step)
                room += step
            }
            if whole.readableBytes == 0 { whole = portion } else { whole.writeImmutableBuffer(portion) }
        }
        return whole
    }

    private static func tooLarge(_ limitInBytes: Int) -> HTTPProblem {
        HTTPProblem(.payloadTooLarge, "The body may have at most \(limitInBytes) bytes.")
    }
}

extension Request {
    /// The body of a management call: a small JSON object.
    ///
    /// - Throws: `invalid-json`, `invalid-body` naming the field, `payload-too-large`.
    public func decoded<Body: Decodable>(_: Body.Type, upTo limitInBytes: Int = 64 << 10) async throws -> Body {
        let body = try await wholeBody(upTo: limitInBytes)
        do {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            return try decoder.decode(Body.self, from: Data(body.readableBytesView))
        } catch DecodingError.keyNotFound(let key, _) {
            throw HTTPProblem(.invalidBody, "This field is required.", field: key.stringValue)
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            throw HTTPProblem(
                .invalidBody, "This field has the wrong type.", field: context.codingPath.map(\.stringValue).joined(separator: "."))
        } catch {
            throw HTTPProblem(.invalidJSON)
        }
    }
}

extension Response {
    public static func encoding(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return .json(ByteBuffer(bytes: try encoder.encode(value)), status: status)
    }

    /// `{"count":n,"data":[…]}`
    public static func list(_ values: [some Encodable]) throws -> Response {
        try encoding(ListBody(count: values.count, data: values))
    }

    /// `{"count":n,"data":[…],"next":…}` of JSON texts.
    public static func page(_ page: some Collection<String>, next: String? = nil) -> Response {
        let next = next.map { ",\"next\":" + JSONValue.quote($0) } ?? ""
        return .json(#"{"count":\#(page.count),"data":[\#(page.joined(separator: ","))]\#(next)}"#)
    }

    /// JSON that is already text.
    public static func json(_ text: String) -> Response { .json(ByteBuffer(string: text)) }

    /// The same as bytes.
    public static func json(_ body: ByteBuffer, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json; charset=utf-8"], body: .whole(body))
    }
}

private struct ListBody<Element: Encodable>: Encodable {
    var count: Int
    var data: [Element]
}
