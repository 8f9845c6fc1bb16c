public import HTTPTypes
public import Hummingbird
import Foundation
import MartletAPI
import MartletCore
import NIOCore

extension Request {
    /// The whole body.
    ///
    /// - Throws: `payload-too-large` beyond `limitInBytes`.
    public func wholeBody(upTo limitInBytes: Int) async throws -> ByteBuffer {
        do {
            return try await body.collect(upTo: limitInBytes)
        } catch is NIOTooManyBytesError {
            throw HTTPProblem(.payloadTooLarge, "The body may have at most \(limitInBytes) bytes.")
        } catch let error as HTTPError where error.status == .contentTooLarge {
            throw HTTPProblem(.payloadTooLarge, "The body may have at most \(limitInBytes) bytes.")
        }
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
            status: status, headers: [.contentType: "application/json; charset=utf-8"], body: .init(byteBuffer: body))
    }
}

private struct ListBody<Element: Encodable>: Encodable {
    var count: Int
    var data: [Element]
}
