import MartletCore

/// Names for Swift source text, made from any text and different from each other.
struct SwiftNames {
    private var taken: Set<String>

    init(taken: Set<String> = []) { self.taken = taken }

    /// A name for a property or case: `unit price` becomes `unitPrice`, `class` becomes `` `class` ``.
    mutating func value(_ text: String) -> String {
        let words = Self.words(text, capitalizingFirst: false)
        // Even in back quotes, `self` and `init` are not allowed as the name of every kind of member.
        let name = unique(words == "self" || words == "init" ? words + "Value" : words)
        return Self.keywords.contains(name) ? "`\(name)`" : name
    }

    /// A name for a type: `unit price` becomes `UnitPrice`.
    mutating func type(_ text: String) -> String {
        let name = Self.words(text, capitalizingFirst: true)
        return unique(Self.typesInUse.contains(name) || name.hasPrefix("Martlet") ? name + "Value" : name)
    }

    private mutating func unique(_ name: String) -> String {
        var candidate = name
        var number = 2
        while !taken.insert(candidate).inserted {
            candidate = "\(name)\(number)"
            number += 1
        }
        return candidate
    }

    private static func words(_ text: String, capitalizingFirst: Bool) -> String {
        var name = ""
        var isStart = capitalizingFirst
        for byte in text.utf8 {
            guard let letter = letter(byte) else {
                isStart = !name.isEmpty || capitalizingFirst
                continue
            }
            if isStart {
                name += letter.uppercased()
            } else {
                name += name.isEmpty ? letter.lowercased() : letter
            }
            isStart = false
        }
        guard let first = name.utf8.first else { return capitalizingFirst ? "Unnamed" : "unnamed" }
        return (0x30...0x39).contains(first) ? "_" + name : name
    }

    /// An ASCII letter or digit; other characters are left out of names.
    private static func letter(_ byte: UInt8) -> String? {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            String(UnicodeScalar(byte))
        default: nil
        }
    }

    /// A string literal.
    static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": literal += "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f || (0x80..<0xa0).contains(scalar.value):
                literal += "\\u{\(String(scalar.value, radix: 16))}"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }

    private static let keywords: Set<String> = [
        "any", "as", "associatedtype", "async", "await", "break", "case", "catch", "class", "continue", "default",
        "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func",
        "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup",
        "private", "protocol", "public", "repeat", "rethrows", "return", "self", "some", "static", "struct",
        "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]
    /// Types that the generated text uses, and words that cannot be the name of a type.
    private static let typesInUse: Set<String> = [
        "Any", "Bool", "CaseIterable", "Codable", "CodingKey", "CodingKeys", "Date", "Decodable", "Decoder", "Double",
        "Encodable", "Encoder", "Equatable", "Int", "Protocol", "Self", "Sendable", "String", "Type",
    ]
}
