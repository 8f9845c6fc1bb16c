import MartletCore

/// The members of a message, parsed on access. A member that is only stored is not parsed.
struct MessageFields {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let ranges: [String: Range<Int>]

    /// - Throws: `JSONError` if the bytes are not a JSON object.
    init(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        ranges = Dictionary(try JSONText.members(of: bytes).map { ($0.name, $0.value) }) { $1 }
        self.bytes = bytes
    }

    /// The bytes of a member's value; nil if it is missing or null.
    func text(_ name: String) -> UnsafeBufferPointer<UInt8>? {
        guard let range = ranges[name], bytes[range.lowerBound] != UInt8(ascii: "n") else { return nil }
        return UnsafeBufferPointer(rebasing: bytes[range])
    }

    func value(_ name: String) -> JSONValue? {
        guard let text = text(name) else { return nil }
        // `init` has checked the syntax. Most strings have no escapes and can be used as they are.
        if text.first == UInt8(ascii: "\""), !text.contains(UInt8(ascii: "\\")) {
            return .string(String(decoding: text.dropFirst().dropLast(), as: UTF8.self))
        }
        return try? JSONValue(parsing: text)
    }

    /// A string that is not empty; nil if it is missing, null or empty.
    ///
    /// - Throws: `EventFault` if it is not a string or too long.
    func string(_ name: String, upTo limitInBytes: Int) throws -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value else {
            throw EventFault(name, "Expected a string, found \(value.phrase).")
        }
        guard text.utf8.count <= limitInBytes else {
            throw EventFault(name, "Expected at most \(limitInBytes) bytes, found \(text.utf8.count).")
        }
        return text.isEmpty ? nil : text
    }

    /// A string that is not empty, or a number as it was written, because some apps number their users.
    func id(_ name: String) throws -> String? {
        switch value(name) {
        case .number(let literal)?: literal
        case nil, .string?: try string(name, upTo: 512)
        case let value?: throw EventFault(name, "Expected a string or a number, found \(value.phrase).")
        }
    }

    /// The JSON text of an object.
    ///
    /// - Throws: `EventFault` if it is not an object.
    func object(_ name: String) throws -> String? {
        guard let text = text(name) else { return nil }
        guard text.first == UInt8(ascii: "{") else { throw EventFault(name, "Expected an object.") }
        return String(decoding: text, as: UTF8.self)
    }
}
