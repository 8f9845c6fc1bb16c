import Foundation
public import HTTPTypes
public import Hummingbird
import MartletAPI
public import MartletCore
import NIOCore

extension Request {
    /// Reads the complete body. Everything above `RequestMemory.smallSizeInBytes` counts against the process's budget
    /// for bodies as it arrives.
    ///
    /// - Throws: `payload-too-large` above `limitInBytes`, `unavailable`.
    public func wholeBody(upTo limitInBytes: Int) async throws -> ByteBuffer {
        let length = headers[.contentLength].flatMap { Int($0) } ?? 0
        guard length <= limitInBytes else { throw Self.tooLarge(limitInBytes) }
        var whole = ByteBuffer()
        var room = RequestMemory.smallSizeInBytes
        for try await portion in body {
            let size = whole.readableBytes + portion.readableBytes
            guard size <= limitInBytes else { throw Self.tooLarge(limitInBytes) }
            if size > room, let memory = RequestMemory.current {
                // Reserve in steps, as `ByteBuffer` grows. Once a large part has arrived, reserve the rest at once,
                // because requests that hold much memory and need more would wait for each other.
                let step = size > Self.largeBodySizeInBytes && length >= size ? length - room : max(room, size - room)
                try await memory.reserveBody(step)
                room += step
            }
            if whole.readableBytes == 0 { whole = portion } else { whole.writeImmutableBuffer(portion) }
        }
        return whole
    }

    private static let largeBodySizeInBytes = 1 << 20

    private static func tooLarge(_ limitInBytes: Int) -> ServiceError {
        ServiceError(.payloadTooLarge, "The body may have at most \(limitInBytes) bytes.")
    }
}

extension Request {
    /// Reads the complete body as one JSON value (RFC 8259) within `JSONLimits`. All JSON bodies are read by this
    /// method, or by `JSONText` if they are only passed on.
    ///
    /// - Throws: `invalid-json`, also for a missing body; `invalid-body`, `limit-exceeded`, `payload-too-large`.
    public func json(upTo limitInBytes: Int) async throws -> JSONValue {
        let body = try await wholeBody(upTo: limitInBytes)
        guard body.readableBytes > 0 else { throw ServiceError.missingBody }
        do {
            return try JSONValue(parsing: body.readableBytesView)
        } catch {
            throw ServiceError(error)
        }
    }

    /// Decodes the body as a Swift type. Unknown members are refused at every level.
    ///
    /// - Throws: The errors of `json`, and `invalid-body` with the field.
    public func decoded<Body: Decodable>(_: Body.Type, upTo limitInBytes: Int = 64 << 10) async throws -> Body {
        try BodyDecoder.decode(Body.self, from: try await json(upTo: limitInBytes))
    }

    /// Refuses a body with any content, for calls that take none. `{}` is allowed.
    ///
    /// - Throws: The errors of `BodyFields`.
    public func allowNoBody() async throws {
        _ = try await BodyFields(self, [], isOptional: true)
    }
}

extension ServiceError {
    static let missingBody = ServiceError(.invalidJSON, "Expected a JSON object, but the body is missing.")

    /// The problem for an error in a client's JSON.
    public init(_ error: JSONError) {
        let code: ErrorCode =
            switch error.reason {
            case .syntax, .encoding: .invalidJSON
            case .shape, .duplicateName, .nulCharacter: .invalidBody
            case .tooDeep, .numberTooLarge, .tooMany: .limitExceeded
            }
        self.init(code, error.description)
    }

    /// The problem for an unknown member of a body.
    ///
    /// - Parameters:
    ///   - path: The path of the object that contains it; nil for the body itself.
    ///   - known: The members that the object may have.
    public static func unknownMember(_ name: String, in path: String? = nil, known: some Collection<String>)
        -> ServiceError
    {
        let name =
            name.utf8.count <= 128 ? name : String(String.UnicodeScalarView(name.unicodeScalars.prefix(64))) + "…"
        let near = NearMiss.suggestion(for: name, among: known).map { "; did you mean \"\($0)\"?" } ?? "."
        return ServiceError(
            .invalidBody, "Unknown member \"\(name)\"" + near, field: path.map { "\($0).\(name)" } ?? name)
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

    /// `{"count":n,"data":[…],"next":…}` from JSON texts.
    public static func page(_ page: some Collection<String>, next: String? = nil) -> Response {
        let next = next.map { ",\"next\":" + JSONValue.quote($0) } ?? ""
        return .json(#"{"count":\#(page.count),"data":[\#(page.joined(separator: ","))]\#(next)}"#)
    }

    /// A response from JSON text.
    public static func json(_ text: String) -> Response { .json(ByteBuffer(string: text)) }

    public static let jsonType = "application/json; charset=utf-8"

    /// A response from JSON bytes.
    public static func json(_ body: ByteBuffer, status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: [.contentType: jsonType], body: .whole(body))
    }
}

private struct ListBody<Element: Encodable>: Encodable {
    var count: Int
    var data: [Element]
}
