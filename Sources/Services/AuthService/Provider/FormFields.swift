import Foundation
import Hummingbird
import MartletHTTP

/// Fields of a query or a form (WHATWG URL §5), each at most once (RFC 6749 §3.1).
struct FormFields: Sendable {
    static let maximumSizeInBytes = 16 << 10
    static let maximumCount = 100

    private let fields: [(name: String, value: String)]

    /// - Throws: `OAuthError` `invalid_request` if the text is too long, is not UTF-8, contains control characters or
    ///   has too many or duplicate fields.
    init(_ text: String) throws {
        guard text.utf8.count <= Self.maximumSizeInBytes else {
            throw OAuthError(.invalidRequest, "The parameters are too long.")
        }
        var fields: [(name: String, value: String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(halves[0]),
                let value = Self.decode(halves.count > 1 ? halves[1] : "".utf8[...])
            else {
                throw OAuthError(.invalidRequest, "A parameter is not correctly encoded.")
            }
            guard fields.count < Self.maximumCount else {
                throw OAuthError(.invalidRequest, "There are too many parameters.")
            }
            guard !fields.contains(where: { $0.name == name }) else {
                throw OAuthError(.invalidRequest, "A parameter occurs more than once.")
            }
            fields.append((name, value))
        }
        self.fields = fields
    }

    /// Reads the body of a form.
    init(body request: Request) async throws {
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard type?.trimmingCharacters(in: .whitespaces) == "application/x-www-form-urlencoded" else {
            throw OAuthError(.invalidRequest, "Expected a form as the body (application/x-www-form-urlencoded).")
        }
        try self.init(String(buffer: try await request.wholeBody(upTo: Self.maximumSizeInBytes)))
    }

    /// Nil if the field is missing or empty (RFC 6749 §3.1).
    subscript(name: String) -> String? {
        fields.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    func setting(_ name: String, _ value: String) -> FormFields {
        FormFields(fields: fields.filter { $0.name != name } + [(name, value)])
    }

    private init(fields: [(name: String, value: String)]) {
        self.fields = fields
    }

    /// All fields as text, always the same for the same fields.
    var encoded: String { Self.encode(fields) }

    static func encode(_ fields: [(name: String, value: String)]) -> String {
        fields.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
    }

    /// Escapes everything except the unreserved characters of RFC 3986 §2.3.
    static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nil if the text has invalid escapes or control characters, or is not UTF-8.
    static func decode(_ text: some Collection<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
                guard digits.count == 2 else { return nil }
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
