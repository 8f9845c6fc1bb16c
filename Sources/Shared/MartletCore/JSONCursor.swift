/// An error in a JSON text, with its position.
public struct JSONError: Error, Equatable, CustomStringConvertible {
    public enum Reason: Sendable, Equatable {
        case syntax
        /// A byte that is not part of a valid UTF-8 sequence.
        case encoding
        /// Valid JSON so far, but not the expected kind of value.
        case shape(expected: JSONKind, found: JSONKind)
        /// A name that occurs twice in its object.
        case duplicateName
        /// Nesting deeper than `JSONLimits.maximumDepth`.
        case tooDeep
        /// More digits or a larger exponent than `JSONLimits` allows.
        case numberTooLarge
        /// More members or elements than the caller accepts.
        case tooMany
        /// U+0000, which PostgreSQL cannot store in text.
        case nulCharacter
    }

    public let reason: Reason
    /// Offset in bytes.
    public let offset: Int

    public init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// Whether the text is JSON, but not of the expected kind.
    public var isShape: Bool { if case .shape = reason { true } else { false } }

    public var description: String {
        switch reason {
        case .shape(let expected, let found):
            "Expected a JSON \(expected.name), found \(found.phrase) at byte \(offset)."
        case .syntax: "Not valid JSON at byte \(offset)."
        case .encoding: "Not valid UTF-8 at byte \(offset)."
        case .duplicateName: "A member name appears twice in one object, the second time at byte \(offset)."
        case .tooDeep: "Nested deeper than \(JSONLimits.maximumDepth) levels at byte \(offset)."
        case .numberTooLarge: "A number has too many digits at byte \(offset)."
        case .tooMany: "Too many members or elements at byte \(offset)."
        case .nulCharacter: "The character U+0000 cannot be stored (byte \(offset))."
        }
    }
}

/// The kinds of JSON values (RFC 8259 §3).
public enum JSONKind: String, Sendable, CaseIterable {
    case object, array, string, number, boolean, null

    var name: String { rawValue }

    /// The kind with its article, for use in sentences.
    public var phrase: String {
        switch self {
        case .object, .array: "an " + rawValue
        case .string, .number, .boolean: "a " + rawValue
        case .null: rawValue
        }
    }

    /// Determines the kind from the first byte of a value's text.
    init(firstByte: UInt8?) {
        switch firstByte {
        case UInt8(ascii: "{"): self = .object
        case UInt8(ascii: "["): self = .array
        case UInt8(ascii: "\""): self = .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .boolean
        case UInt8(ascii: "n"): self = .null
        default: self = .number
        }
    }
}

/// Limits for JSON from clients, to protect our memory and PostgreSQL's storage.
public enum JSONLimits {
    public static let maximumDepth = 32
    public static let maximumNumberLength = 400
    /// PostgreSQL writes `1e300` out in full, so an exponent determines the size. `maximumNumberLength` also applies to
    /// the written-out form, so that stored values can be parsed again.
    public static let maximumExponent = 400
    /// Maximum number of members in objects that `JSONText` lists.
    public static let maximumMembers = 10_000
    /// Maximum total growth of a text's numbers when they are written out.
    public static let maximumGrowthInBytes = 1 << 20

    /// Maximum number of values parsed from a text. Each takes up to 100 bytes of memory, however short its text. Texts
    /// whose values have 48 bytes or more on average are never refused.
    public static func maximumValues(inBytes count: Int) -> Int { max(100_000, count / 48) }
}

/// Walks JSON text (RFC 8259) without building values, which is enough for bytes that are only passed on.
///
/// Strict and in one pass: no trailing commas, no lone surrogates, valid UTF-8, no duplicate names in an object, and
/// the limits of `JSONLimits`.
struct JSONCursor {
    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var position = 0
    private var hasNonASCII = false
    private var hasEscape = false
    private var growthInBytes = 0
    private var names: MemberNames
    private let maximumNames: Int
    /// How many more values may be built from the text.
    var valuesLeft = Int.max

    /// - Parameter allowsDuplicates: Accepts duplicate names in an object.
    init(_ bytes: UnsafeBufferPointer<UInt8>, allowingDuplicates allowsDuplicates: Bool = false) {
        self.bytes = bytes
        names = MemberNames(isIgnored: allowsDuplicates)
        maximumNames = JSONLimits.maximumValues(inBytes: bytes.count)
    }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Whether a value of any kind begins here.
    private var isAtValue: Bool {
        var cursor = self
        do throws(JSONError) {
            try cursor.skipValue(depth: 0)
            return true
        } catch {
            return error.reason != .syntax
        }
    }

    /// The error where a value of another kind was expected.
    private func mismatch(_ expected: JSONKind) -> JSONError {
        failure(isAtValue ? .shape(expected: expected, found: JSONKind(firstByte: next)) : .syntax)
    }

    func failure(_ reason: JSONError.Reason = .syntax) -> JSONError {
        JSONError(reason: reason, offset: position)
    }

    mutating func countValue() throws(JSONError) {
        guard valuesLeft > 0 else { throw failure(.tooMany) }
        valuesLeft -= 1
    }

    mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    mutating func take(_ expected: UInt8) throws(JSONError) {
        guard next == expected else { throw failure() }
        position += 1
    }

    /// Requires the end of the text, after optional white space.
    mutating func finish() throws(JSONError) {
        skipBlanks()
        guard position == bytes.count else { throw failure() }
        if hasNonASCII, let offset = bytes.firstIndexOfInvalidUTF8 {
            throw JSONError(reason: .encoding, offset: offset)
        }
    }

    mutating func skipValue(depth: Int) throws(JSONError) {
        skipBlanks()
        switch next {
        case UInt8(ascii: "{"):
            try walkObject(depth: depth) { cursor, _ throws(JSONError) in try cursor.skipValue(depth: depth + 1) }
        case UInt8(ascii: "["):
            try walkArray(depth: depth) { cursor throws(JSONError) in try cursor.skipValue(depth: depth + 1) }
        case UInt8(ascii: "\""): _ = try takeString()
        case UInt8(ascii: "t"): try takeWord("true")
        case UInt8(ascii: "f"): try takeWord("false")
        case UInt8(ascii: "n"): try takeWord("null")
        default: _ = try takeNumber()
        }
    }

    /// Calls `member` with the range of each key without quotes. `member` must consume the value.
    mutating func walkObject(
        depth: Int, _ member: (inout JSONCursor, Range<Int>) throws(JSONError) -> Void
    ) throws(JSONError) {
        guard depth < JSONLimits.maximumDepth else { throw failure(.tooDeep) }
        guard next == UInt8(ascii: "{") else { throw mismatch(.object) }
        position += 1
        skipBlanks()
        if next == UInt8(ascii: "}") { return position += 1 }
        let outer = names.begin()
        while true {
            skipBlanks()
            hasEscape = false
            let key = try takeString()
            // Each name takes memory until its object ends, however short it is.
            guard names.count < maximumNames else { throw failure(.tooMany) }
            names.append(key, isEscaped: hasEscape)
            skipBlanks()
            try take(UInt8(ascii: ":"))
            skipBlanks()
            try member(&self, key)
            skipBlanks()
            if next == UInt8(ascii: ",") {
                position += 1
                continue
            }
            try take(UInt8(ascii: "}"))
            if let offset = names.end(outer, in: bytes) { throw JSONError(reason: .duplicateName, offset: offset) }
            return
        }
    }

    mutating func walkArray(depth: Int, _ element: (inout JSONCursor) throws(JSONError) -> Void) throws(JSONError) {
        guard depth < JSONLimits.maximumDepth else { throw failure(.tooDeep) }
        guard next == UInt8(ascii: "[") else { throw mismatch(.array) }
        position += 1
        skipBlanks()
        if next == UInt8(ascii: "]") { return position += 1 }
        while true {
            skipBlanks()
            try element(&self)
            skipBlanks()
            if next == UInt8(ascii: ",") { position += 1 } else { return try take(UInt8(ascii: "]")) }
        }
    }

    mutating func takeWord(_ word: StaticString) throws(JSONError) {
        let length = word.utf8CodeUnitCount
        guard position + length <= bytes.count else { throw failure() }
        for index in 0..<length where bytes[position + index] != word.utf8Start[index] { throw failure() }
        position += length
    }

    /// Consumes a number and returns the range of its literal.
    mutating func takeNumber() throws(JSONError) -> Range<Int> {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        if next == UInt8(ascii: "0") { position += 1 } else { try takeDigits() }
        let point = position
        if next == UInt8(ascii: ".") {
            position += 1
            try takeDigits()
        }
        let fraction = max(0, position - point - 1)
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            position += 1
            let isNegative = next == UInt8(ascii: "-")
            if next == UInt8(ascii: "+") || isNegative { position += 1 }
            let exponent = try takeExponent()
            try writeOut(
                start..<position, whole: point - start, fraction: fraction, exponent: isNegative ? -exponent : exponent)
        }
        guard position - start <= JSONLimits.maximumNumberLength else { throw failure(.numberTooLarge) }
        return start..<position
    }

    private mutating func takeDigits() throws(JSONError) {
        let start = position
        while let digit = next, (0x30...0x39).contains(digit) { position += 1 }
        guard position > start else { throw failure() }
    }

    /// Accounts for the zeros that replace the exponent when PostgreSQL writes the number out.
    private mutating func writeOut(_ literal: Range<Int>, whole: Int, fraction: Int, exponent: Int) throws(JSONError) {
        let decimals = max(0, fraction - exponent)
        let length = max(1, whole + exponent) + (decimals > 0 ? decimals + 1 : 0)
        growthInBytes += max(0, length - literal.count)
        guard length <= JSONLimits.maximumNumberLength, growthInBytes <= JSONLimits.maximumGrowthInBytes else {
            throw failure(.numberTooLarge)
        }
    }

    private mutating func takeExponent() throws(JSONError) -> Int {
        let start = position
        try takeDigits()
        var exponent = 0
        for digit in bytes[start..<position] {
            exponent = exponent * 10 + Int(digit - 0x30)
            guard exponent <= JSONLimits.maximumExponent else { throw failure(.numberTooLarge) }
        }
        return exponent
    }

    /// Consumes a string and returns the range of its text, without quotes and with escapes as written.
    mutating func takeString() throws(JSONError) -> Range<Int> {
        try take(UInt8(ascii: "\""))
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return start..<(position - 1)
            case UInt8(ascii: "\\"):
                hasEscape = true
                try takeEscape()
            case 0..<0x20: throw failure()
            case 0x80...:
                hasNonASCII = true
                position += 1
            default: position += 1
            }
        }
        throw failure()
    }

    private mutating func takeEscape() throws(JSONError) {
        position += 1
        switch next {
        case UInt8(ascii: "u"):
            position += 1
            let unit = try takeHexUnit()
            if unit == 0 { throw failure(.nulCharacter) }
            if (0xdc00...0xdfff).contains(unit) { throw failure() }
            guard (0xd800...0xdbff).contains(unit) else { return }
            try take(UInt8(ascii: "\\"))
            try take(UInt8(ascii: "u"))
            guard (0xdc00...0xdfff).contains(try takeHexUnit()) else { throw failure() }
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        default: throw failure()
        }
    }

    private mutating func takeHexUnit() throws(JSONError) -> Int {
        var unit = 0
        for _ in 0..<4 {
            guard let digit = next.flatMap(Self.hexDigit) else { throw failure() }
            unit = unit << 4 | digit
            position += 1
        }
        return unit
    }

    fileprivate static func hexDigit(_ byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// The characters of a string whose range `takeString` returned.
    func text(_ range: Range<Int>) -> String { bytes.text(range) }
}

extension UnsafeBufferPointer<UInt8> {
    /// Decodes the escapes in the text of a validated JSON string, given without its quotes.
    func text(_ range: Range<Int>) -> String {
        let slice = self[range]
        guard slice.contains(UInt8(ascii: "\\")) else { return String(decoding: slice, as: UTF8.self) }
        // An escape is never shorter than the character it encodes.
        return String(unsafeUninitializedCapacity: slice.count) { text in
            var (index, count) = (range.lowerBound, 0)
            func put(_ byte: UInt8) {
                text[count] = byte
                count += 1
            }
            while index < range.upperBound {
                let byte = self[index]
                index += 1
                guard byte == UInt8(ascii: "\\") else {
                    put(byte)
                    continue
                }
                let escape = self[index]
                index += 1
                switch escape {
                case UInt8(ascii: "u"):
                    var unit = hexUnit(at: index)
                    index += 4
                    // The low surrogate follows, because `takeString` has checked it.
                    if (0xd800...0xdbff).contains(unit), index + 6 <= range.upperBound {
                        unit = 0x10000 + (unit - 0xd800) << 10 + (hexUnit(at: index + 2) - 0xdc00)
                        index += 6
                    }
                    for byte in UTF8.encode(Unicode.Scalar(unit) ?? "\u{fffd}") ?? UTF8.encodedReplacementCharacter {
                        put(byte)
                    }
                case UInt8(ascii: "b"): put(8)
                case UInt8(ascii: "f"): put(12)
                case UInt8(ascii: "n"): put(10)
                case UInt8(ascii: "r"): put(13)
                case UInt8(ascii: "t"): put(9)
                default: put(escape)
                }
            }
            return count
        }
    }

    private func hexUnit(at index: Int) -> UInt32 {
        self[index..<index + 4].reduce(0) { $0 << 4 | UInt32(JSONCursor.hexDigit($1) ?? 0) }
    }
}
