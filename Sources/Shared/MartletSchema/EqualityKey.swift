import MartletCore

/// Bytes that are the same for two JSON values exactly if JSON Schema calls them equal (Core §4.2.2): numbers by their
/// value, objects whatever the order of their members.
struct EqualityKey: Sendable, Hashable {
    private(set) var bytes: [UInt8] = []

    init(_ value: JSONValue) { add(value) }

    private mutating func add(_ value: JSONValue) {
        switch value {
        case .null, .bool: bytes += value.text.utf8
        case .string(let text): bytes += JSONValue.quote(text).utf8
        case .number(let literal): add(number: literal)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for element in elements {
                add(element)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for member in members.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
                bytes += JSONValue.quote(member.name).utf8
                bytes.append(UInt8(ascii: ":"))
                add(member.value)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private mutating func add(number literal: String) {
        guard let number = ExactNumber(literal) else { return bytes += literal.utf8 }
        if number.isNegative { bytes.append(UInt8(ascii: "-")) }
        bytes += number.digits.map { $0 + 0x30 }
        bytes += "e\(number.exponent)".utf8
    }
}
