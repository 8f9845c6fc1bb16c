import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

extension BodyFields {
    /// The change to a field that can be removed. Nil if the field is missing; `.some(nil)` removes the value.
    func change<Value>(_ name: String, _ read: (String) throws -> Value?) rethrows -> Value?? {
        self[name] == nil ? nil : .some(try read(name))
    }

    /// - Throws: `invalid-body` if the text has more than `limit` or fewer than `minimum` characters.
    func text(_ name: String, from minimum: Int = 0, upTo limit: Int) throws -> String? {
        guard let text = try string(name) else { return nil }
        guard (minimum...limit).contains(text.unicodeScalars.count) else {
            throw ServiceError(
                .invalidBody, "Expected \(minimum) to \(limit) characters, found \(text.unicodeScalars.count).",
                field: name)
        }
        return text
    }

    /// A list of distinct strings that all satisfy `isValid`.
    ///
    /// - Parameter expected: What `isValid` accepts, for the message of a refusal: "a CIDR block such as 10.0.0.0/8".
    func texts(_ name: String, upTo limit: Int, expected: String, _ isValid: (String) -> Bool) throws -> [String]? {
        guard let value = self[name], value != .null else { return nil }
        guard case .array(let elements) = value else {
            throw ServiceError(.invalidBody, "Expected an array, found \(value.phrase).", field: name)
        }
        guard elements.count <= limit else {
            throw ServiceError(
                .invalidBody, "Expected at most \(limit) entries, found \(elements.count).", field: name)
        }
        let texts = try elements.map { element in
            guard case .string(let text) = element else {
                throw ServiceError(
                    .invalidBody, "Expected an array of strings, found \(element.phrase) in it.", field: name)
            }
            guard isValid(text) else { throw ServiceError.unexpectedMember(name, expected: expected, found: text) }
            return text
        }
        guard Set(texts).count == texts.count else {
            throw ServiceError(.invalidBody, "Expected distinct entries, found a duplicate.", field: name)
        }
        return texts
    }

    /// The properties that can be set both on creation and on change of an app.
    func appChange() throws -> AppChange {
        AppChange(
            name: try text("name", from: 1, upTo: 200),
            bundleIDs: try texts(
                "bundleIds", upTo: AppChange.maximumBundleIDs,
                expected: "a bundle id of 1 to 155 letters, digits and . _ -, starting with a letter or digit",
                AppChange.isBundleID),
            storeID: try change("storeId", storeID), settings: try object("settings", upTo: 16 << 10))
    }

    private func storeID(_ name: String) throws -> String? {
        guard let text = try string(name) else { return nil }
        guard AppChange.isStoreID(text) else {
            throw ServiceError.unexpectedMember(name, expected: "a store id of 1 to 20 digits", found: text)
        }
        return text
    }
}

extension AppChange {
    static let fields: Set<String> = ["name", "bundleIds", "storeId", "settings"]
    static let maximumBundleIDs = 20

    static func isBundleID(_ text: String) -> Bool { text.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._\-]{0,154}/) != nil }

    static func isStoreID(_ text: String) -> Bool { text.wholeMatch(of: /[0-9]{1,20}/) != nil }
}

extension Request {
    /// The picture in the body. Its type is detected from the bytes, ignoring `Content-Type`.
    ///
    /// - Throws: `payload-too-large`, `unsupported-media-type`, `malformed-request`.
    func picture(upTo limitInBytes: Int) async throws -> Picture {
        let body = try await wholeBody(upTo: limitInBytes)
        // The framework treats a closed connection as the end of the body.
        if let length = headers[.contentLength].flatMap({ Int($0) }), length != body.readableBytes {
            throw ServiceError(.malformedRequest, "The body ended early.")
        }
        guard let picture = Picture(Data(body.readableBytesView)) else {
            throw ServiceError(.unsupportedMediaType, "Expected a PNG, JPEG or WebP picture as the body.")
        }
        return picture
    }
}

extension Response {
    /// - Parameter path: The path of the created resource; nil for the request's path followed by the `id` or `number`
    ///   of the answer.
    static func created(_ json: String, at path: String? = nil) -> Response {
        var response = Response.json(ByteBuffer(string: json), status: .created)
        if let path { response.headers[.location] = path }
        return response
    }

    /// A picture, or 304. The headers keep browsers from guessing another type and from loading or running anything.
    static func picture(_ picture: Picture, to request: Request) -> Response {
        var headers: HTTPFields = [
            .eTag: "\"\(picture.sha256)\"", .cacheControl: "private, no-cache", .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'", .contentDisposition: "inline",
        ]
        if let tags = request.headers[.ifNoneMatch], tags.contains("\"\(picture.sha256)\"") {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = picture.contentType
        return Response(status: .ok, headers: headers, body: .whole(ByteBuffer(bytes: picture.bytes)))
    }
}
