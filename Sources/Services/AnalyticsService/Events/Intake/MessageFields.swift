import MartletCore

/// A message's members, read when they are asked for: what is only stored is not taken apart.
struct MessageFields {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let ranges: [String: Range<Int>]

    /// - Throws: `JSONError` for what is no JSON object.
    init(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        ranges = Dictionary(try JSONText.members(of: bytes).map { ($0.name, $0.value) }) { $1 }
        self.bytes = bytes
    }

    /// The bytes of a member's value; nil where there is none, or null.
    func text(_ name: String) -> UnsafeBufferPointer<UInt8>? {
        guard let range = ranges[name], bytes[range.lowerBound] != UInt8(ascii: "n") else { return nil }
        return UnsafeBufferPointer(rebasing: bytes[range])
    }

    func value(_ name: String) -> JSONValue? {
        guard let text = text(name) else { return nil }
        // What `init` has checked is valid. Most are texts as they are to be read.
        if text.first == UInt8(ascii: "\""), !text.contains(UInt8(ascii: "\\")) {
            return .string(String(decoding: text.dropFirst().dropLast(), as: UTF8.self))
        }
        return try? JSONValue(parsing: text)
    }

    /// A string that is not empty.
    ///
    /// - Throws: `EventFault` for what is none, or is too long.
    func string(_ name: String, upTo limitInBytes: Int) throws -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value else { throw EventFault(name, "This must be a string.") }
        guard text.utf8.count <= limitInBytes else {
            throw EventFault(name, "This may have at most \(limitInBytes) bytes.")
        }
        return text.isEmpty ? nil : text
    }

    /// A string that is not empty, or a number as it is written: some apps number their users.
    func id(_ name: String) throws -> String? {
        switch value(name) {
        case .number(let literal)?: literal
        case nil, .string?: try string(name, upTo: 512)
        default: throw EventFault(name, "This must be a string or a number.")
        }
    }

    /// The text of an object.
    ///
    /// - Throws: `EventFault` for what is none.
    func object(_ name: String) throws -> String? {
        guard let text = text(name) else { return nil }
        guard text.first == UInt8(ascii: "{") else { throw EventFault(name, "This must be an object.") }
        return String(decoding: text, as: UTF8.self)
    }
}
