import Foundation

/// A CBOR value (RFC 8949) as written by authenticators.
///
/// Decoding is strict, following CTAP2's canonical form (CTAP 2.1 §8): shortest lengths; no indefinite lengths, tags or
/// floating-point numbers; map keys are distinct numbers and strings. The order of keys is not checked: nothing depends
/// on it, and not every authenticator keeps it.
indirect enum CBOR: Sendable, Hashable {
    case integer(Int)
    case bytes(Data)
    case text(String)
    case array([CBOR])
    case map([CBOR: CBOR])
    case bool(Bool)
    case null

    /// The maximum nesting of arrays and maps. CTAP2 uses four levels, compound attestations five.
    static let maximumDepth = 6

    /// Decodes exactly one value; further bytes are an error.
    init(_ bytes: some Sequence<UInt8>) throws(CBORError) {
        var reader = CBORReader(bytes)
        self = try reader.take()
        guard reader.isAtEnd else { throw reader.error(.trailingBytes) }
    }

    /// A member of a map; nil if it is missing or the value is not a map.
    subscript(key: Int) -> CBOR? { self[.integer(key)] }
    subscript(key: String) -> CBOR? { self[.text(key)] }

    private subscript(key: CBOR) -> CBOR? {
        if case .map(let members) = self { members[key] } else { nil }
    }

    var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    var bytes: Data? { if case .bytes(let value) = self { value } else { nil } }
    var text: String? { if case .text(let value) = self { value } else { nil } }
}

struct CBORError: Error, Equatable {
    enum Reason: Sendable {
        case endsEarly, trailingBytes, notShortest, notSupported, tooDeep, tooLarge, notUTF8, notAKey, duplicateKey
    }

    let reason: Reason
    /// In bytes.
    let offset: Int
}

/// Reads consecutive values. Its memory use is bounded by the size of the input.
struct CBORReader {
    private let bytes: [UInt8]
    private(set) var offset = 0

    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    var isAtEnd: Bool { offset == bytes.count }

    func error(_ reason: CBORError.Reason) -> CBORError { CBORError(reason: reason, offset: offset) }

    mutating func take() throws(CBORError) -> CBOR { try take(depth: 0) }

    private mutating func take(depth: Int) throws(CBORError) -> CBOR {
        guard offset < bytes.count else { throw error(.endsEarly) }
        let first = bytes[offset]
        if first >> 5 == 7 { return try takeSimple(first) }
        offset += 1
        let argument = try takeArgument(first & 31)
        switch first >> 5 {
        case 0: return .integer(argument)
        case 1: return .integer(-1 - argument)
        case 2: return .bytes(Data(try takeBytes(argument)))
        case 3:
            guard let text = String(validating: try takeBytes(argument), as: UTF8.self) else { throw error(.notUTF8) }
            return .text(text)
        case 4: return .array(try takeArray(argument, depth: depth + 1))
        case 5: return .map(try takeMap(argument, depth: depth + 1))
        default: throw error(.notSupported)
        }
    }

    private mutating func takeSimple(_ byte: UInt8) throws(CBORError) -> CBOR {
        let value: CBOR
        switch byte {
        case 0xf4: value = .bool(false)
        case 0xf5: value = .bool(true)
        case 0xf6: value = .null
        default: throw error(.notSupported)
        }
        offset += 1
        return value
    }

    /// The argument of a head (RFC 8949 §3); `bits` are the low five bits of the head's first byte.
    private mutating func takeArgument(_ bits: UInt8) throws(CBORError) -> Int {
        guard bits >= 24 else { return Int(bits) }
        guard bits <= 27 else { throw error(.notSupported) }
        let exponent = Int(bits) - 24
        let number = try takeBytes(1 << exponent).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard number >= [24, 1 << 8, 1 << 16, 1 << 32][exponent] else { throw error(.notShortest) }
        guard let argument = Int(exactly: number) else { throw error(.tooLarge) }
        return argument
    }

    private mutating func takeBytes(_ count: Int) throws(CBORError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - offset else { throw error(.endsEarly) }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    private mutating func takeArray(_ count: Int, depth: Int) throws(CBORError) -> [CBOR] {
        try check(count, depth)
        var elements: [CBOR] = []
        for _ in 0..<count { elements.append(try take(depth: depth)) }
        return elements
    }

    private mutating func takeMap(_ count: Int, depth: Int) throws(CBORError) -> [CBOR: CBOR] {
        try check(count, depth)
        var members: [CBOR: CBOR] = [:]
        for _ in 0..<count {
            let key = try take(depth: depth)
            guard key.integer != nil || key.text != nil else { throw error(.notAKey) }
            guard members.updateValue(try take(depth: depth), forKey: key) == nil else { throw error(.duplicateKey) }
        }
        return members
    }

    /// Every element takes at least one byte.
    private func check(_ count: Int, _ depth: Int) throws(CBORError) {
        guard depth <= CBOR.maximumDepth else { throw error(.tooDeep) }
        guard count <= bytes.count - offset else { throw error(.endsEarly) }
    }
}
