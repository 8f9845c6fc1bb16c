/// JavaScript's type conversions (ECMA-262, chapter 7), and JsonLogic's own definition of truth.
extension LogicValue {
    /// Truth in JsonLogic: as in JavaScript, but an empty array is false. `"0"` is true.
    public var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .number(let value): value != 0 && !value.isNaN
        case .string(let text): !text.isEmpty
        case .array(let elements): !elements.isEmpty
        case .object: true
        }
    }

    /// ToString.
    public var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): CanonicalText.number(value)
        case .string(let text): text
        case .array: joined(by: ",")
        case .object: "[object Object]"
        }
    }

    /// `Array.prototype.join`: null becomes an empty string.
    func joined(by separator: String) -> String {
        guard case .array(let elements) = self else { return text }
        return elements.map { $0 == .null ? "" : $0.text }.joined(separator: separator)
    }

    /// ToNumber; NaN for values that are not numbers.
    public var number: Double {
        switch self {
        case .null: 0
        case .bool(let value): value ? 1 : 0
        case .number(let value): value
        case .string(let text): Self.number(of: text)
        case .array: Self.number(of: text)
        case .object: .nan
        }
    }

    private static func number(of text: String) -> Double {
        let trimmed = text.drop(while: \.isWhitespace)
        let end = trimmed.lastIndex { !$0.isWhitespace }
        guard let end else { return 0 }
        let literal = trimmed[...end]
        if literal.first == "0", let radix = radix(of: literal.dropFirst().first) {
            let digits = literal.dropFirst(2)
            return digits.first == "+" ? .nan : UInt64(digits, radix: radix).map { Double($0) } ?? .nan
        }
        let prefix = decimalPrefix(literal)
        return prefix.endIndex == literal.endIndex ? value(of: prefix) : .nan
    }

    private static func radix(of letter: Character?) -> Int? {
        switch letter {
        case "x", "X": 16
        case "o", "O": 8
        case "b", "B": 2
        default: nil
        }
    }

    /// `parseFloat`: the number at the start of the text.
    var leadingNumber: Double {
        if case .number(let value) = self { return value }
        let trimmed = text.drop(while: \.isWhitespace)
        return Self.value(of: Self.decimalPrefix(trimmed))
    }

    private static func value(of literal: Substring) -> Double {
        if literal.hasSuffix("Infinity") { return literal.hasPrefix("-") ? -.infinity : .infinity }
        return Double(literal) ?? .nan
    }

    /// The longest StrDecimalLiteral at the start.
    private static func decimalPrefix(_ text: Substring) -> Substring {
        var rest = text
        if rest.first == "+" || rest.first == "-" { rest.removeFirst() }
        if rest.hasPrefix("Infinity") { return text[..<rest.index(rest.startIndex, offsetBy: 8)] }
        let whole = rest.prefix(while: isDigit)
        rest = rest[whole.endIndex...]
        var end = whole.endIndex
        var hasDigits = !whole.isEmpty
        if rest.first == "." {
            let fraction = rest.dropFirst().prefix(while: isDigit)
            hasDigits = hasDigits || !fraction.isEmpty
            end = fraction.endIndex
        }
        guard hasDigits else { return text.prefix(0) }
        var exponent = text[end...]
        if exponent.first == "e" || exponent.first == "E" {
            exponent.removeFirst()
            if exponent.first == "+" || exponent.first == "-" { exponent.removeFirst() }
            let digits = exponent.prefix(while: isDigit)
            if !digits.isEmpty { end = digits.endIndex }
        }
        return text[..<end]
    }

    private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }

    /// ToPrimitive: lists and objects are converted to text.
    private var primitive: LogicValue {
        switch self {
        case .array, .object: .string(text)
        default: self
        }
    }
}

extension LogicValue {
    /// `===`. Always false for lists and objects: JavaScript compares their identity, and values have none.
    func isIdentical(to other: LogicValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let two)): one == two
        case (.number(let one), .number(let two)): one == two
        // Not `==`, which treats "é" as equal to "e" followed by a combining accent.
        case (.string(let one), .string(let two)): one.utf8.count == two.utf8.count && one.utf8.elementsEqual(two.utf8)
        default: false
        }
    }

    /// `==`.
    func isLooselyEqual(to other: LogicValue) -> Bool {
        switch (self, other) {
        case (.null, _), (_, .null), (.array, .array), (.object, .object), (.array, .object), (.object, .array),
            (.string, .string):
            isIdentical(to: other)
        case (.array, .string), (.object, .string), (.string, .array), (.string, .object):
            primitive.isIdentical(to: other.primitive)
        default: primitive.number == other.primitive.number
        }
    }

    /// `<`, or `<=` with `orEqual`. Two strings are compared by UTF-16 code units, other values as numbers; false if
    /// one of these is NaN.
    func isLess(than other: LogicValue, orEqual: Bool) -> Bool {
        switch (primitive, other.primitive) {
        case (.string(let one), .string(let two)):
            orEqual ? !two.utf16.lexicographicallyPrecedes(one.utf16) : one.utf16.lexicographicallyPrecedes(two.utf16)
        case (let one, let two): orEqual ? one.number <= two.number : one.number < two.number
        }
    }
}
