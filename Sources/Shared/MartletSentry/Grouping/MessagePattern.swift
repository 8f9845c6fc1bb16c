import Foundation

/// Removes from messages what differs each time: numbers, ids, addresses, times and quoted text.
public enum MessagePattern {
    private static let maximumLength = 1_000

    /// The first two lines, with each such part replaced by its kind: `cannot open <quoted> after <duration>`.
    public static func of(_ message: String) -> String {
        let lines = message.cut(toBytes: maximumLength).split(separator: "\n").prefix(2).map { Substring($0).trimmed }
        return words(Array(lines.joined(separator: "\n").utf8))
    }

    private static func words(_ bytes: [UInt8]) -> String {
        var output = ""
        var position = 0
        // Quotation marks without a closing one on this line; each is searched for only once.
        var unclosed: Set<UInt8> = []
        while position < bytes.count {
            let byte = bytes[position]
            if byte == 0x0a { unclosed = [] }
            if let end = endOfQuotation(bytes, position, &unclosed) {
                output += "<quoted>"
                position = end
            } else if isSeparator(byte) {
                output.unicodeScalars.append(Unicode.Scalar(byte))
                position += 1
            } else {
                let start = position
                while position < bytes.count, !isSeparator(bytes[position]) { position += 1 }
                if String(decoding: bytes[start..<position], as: UTF8.self).has("://") {
                    while position < bytes.count, !endsURL(bytes[position]) { position += 1 }
                }
                output += word(String(decoding: bytes[start..<position], as: UTF8.self))
            }
        }
        return output
    }

    /// The end of a quotation that begins here, if one does: a mark at the beginning of a word, and another at the end
    /// of a word.
    private static func endOfQuotation(_ bytes: [UInt8], _ start: Int, _ unclosed: inout Set<UInt8>) -> Int? {
        let mark = bytes[start]
        guard mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'") || mark == UInt8(ascii: "`") else { return nil }
        guard start == 0 || isSeparator(bytes[start - 1]), !unclosed.contains(mark) else { return nil }
        var end = start + 1
        while end < bytes.count, bytes[end] != 0x0a {
            if bytes[end] == mark, end + 1 == bytes.count || !isWordPart(bytes[end + 1]) { return end + 1 }
            end += 1
        }
        unclosed.insert(mark)
        return nil
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"),
            UInt8(ascii: "}"), UInt8(ascii: "<"),
            UInt8(ascii: ">"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "|"),
            UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
            true
        default: false
        }
    }

    private static func endsURL(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: ")"),
            UInt8(ascii: ","):
            true
        default: false
        }
    }

    private static func isWordPart(_ byte: UInt8) -> Bool {
        byte >= 0x80 || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
    }

    /// Replaces a word with its kind; punctuation around it stays.
    private static func word(_ word: String) -> String {
        let end = word.lastIndex { !".:!?…".contains($0) }
        guard let end else { return word }
        let core = word[...end]
        return kind(core) + word[word.index(after: end)...]
    }

    private static func kind(_ word: Substring) -> String {
        if word.utf8.count > 2, word.contains("://") { return "<url>" }
        if let at = word.firstIndex(of: "@"), word[at...].contains("."), at != word.startIndex { return "<email>" }
        if isWhole(word, uuid) { return "<uuid>" }
        guard word.utf8.contains(where: { (0x30...0x39).contains($0) }) || word.utf8.count >= 32 || word.contains("::")
        else {
            return word == "true" || word == "false" ? "<bool>" : String(word)
        }
        return numeric(word)
    }

    private static func numeric(_ word: Substring) -> String {
        if word.allSatisfy(\.isHexDigit) {
            switch word.utf8.count {
            case 64: return "<sha256>"
            case 40: return "<sha1>"
            case 32: return "<md5>"
            default: break
            }
        }
        for (kind, name) in kinds where isWhole(word, kind) { return name }
        // Counters inside a word, as in `item-42/7` and `0x1e59bc50:`.
        return withoutCounts(word.has("0x") ? NameBytes.withoutAddresses(String(word), "<hex>") : String(word))
    }

    /// Replaces digits with `<int>` if punctuation, or the end of the word, is on both sides of them.
    private static func withoutCounts(_ word: String) -> String {
        var (output, digits) = ([UInt8](), [UInt8]())
        var isInName = false
        func flush(_ next: UInt8?) {
            if !digits.isEmpty { output += isInName || next.map(isNamePart) ?? false ? digits : Array("<int>".utf8) }
            digits = []
        }
        for byte in word.utf8 {
            if (0x30...0x39).contains(byte) {
                digits.append(byte)
            } else {
                flush(byte)
                isInName = isNamePart(byte)
                output.append(byte)
            }
        }
        flush(nil)
        return String(decoding: output, as: UTF8.self)
    }

    private static func isNamePart(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "_") || isWordPart(byte) }

    /// The kinds of whole words; the first match wins.
    private static let kinds: [(@Sendable (inout WordReader) -> Bool, String)] = [
        (hexadecimal, "<hex>"), (ipv4, "<ip>"), (time, "<time>"), (ipv6, "<ip>"), (date, "<date>"),
        (duration, "<duration>"), (integer, "<int>"),
        (float, "<float>"), (hash, "<hex>"),
    ]

    private static func isWhole(_ word: Substring, _ kind: (inout WordReader) -> Bool) -> Bool {
        var reader = WordReader(word)
        return kind(&reader) && reader.isAtEnd
    }

    /// `550e8400-e29b-41d4-a716-446655440000`
    @Sendable private static func uuid(_ word: inout WordReader) -> Bool {
        guard word.hexDigits(8...8) else { return false }
        for _ in 0..<3 { guard word.take("-"), word.hexDigits(4...4) else { return false } }
        return word.take("-") && word.hexDigits(12...12)
    }

    /// `0x1e59bc50`
    @Sendable private static func hexadecimal(_ word: inout WordReader) -> Bool {
        word.take("0") && word.take(anyOf: "x", "X") && word.hexDigits(1...Int.max)
    }

    /// `10.0.0.1`, optionally with a port.
    @Sendable private static func ipv4(_ word: inout WordReader) -> Bool {
        guard word.digits(1...3) else { return false }
        for _ in 0..<3 { guard word.take("."), word.digits(1...3) else { return false } }
        return !word.take(":") || word.digits()
    }

    /// `9:00`, `09:00:00.5Z`
    @Sendable private static func time(_ word: inout WordReader) -> Bool {
        guard word.digits(1...2), word.take(":"), word.digits(2...2) else { return false }
        if word.take(":") {
            guard word.digits(2...2) else { return false }
            if word.take(".") { guard word.digits() else { return false } }
        }
        _ = word.take("Z")
        return true
    }

    /// `fe80::1`: 2 to 7 colons.
    @Sendable private static func ipv6(_ word: inout WordReader) -> Bool {
        var colons = 0
        while word.hexDigits(0...4), word.take(":") { colons += 1 }
        return (2...7).contains(colons)
    }

    /// `2026-11-22T09:00:00Z`
    @Sendable private static func date(_ word: inout WordReader) -> Bool {
        guard word.digits(4...4), word.take("-"), word.digits(2...2), word.take("-"), word.digits(2...2) else {
            return false
        }
        return !word.take("T") || word.restWithoutBlanks()
    }

    /// `12.5ms`
    @Sendable private static func duration(_ word: inout WordReader) -> Bool {
        _ = word.take(anyOf: "+", "-")
        guard word.digits() else { return false }
        if word.take(".") { guard word.digits() else { return false } }
        return units.contains { unit in
            var rest = word
            guard rest.take(unit), rest.isAtEnd else { return false }
            word = rest
            return true
        }
    }

    private static let units = [
        "ns", "us", "µs", "ms", "s", "sec", "secs", "seconds", "m", "min", "mins", "minutes", "h", "hours", "d", "days",
    ]

    @Sendable private static func integer(_ word: inout WordReader) -> Bool {
        _ = word.take(anyOf: "+", "-")
        return word.digits()
    }

    /// `-1.5e3`, `.5`, `2e9`
    @Sendable private static func float(_ word: inout WordReader) -> Bool {
        _ = word.take(anyOf: "+", "-")
        let hasDigits = word.digits()
        let hasPoint = word.take(".")
        if hasPoint { guard word.digits() else { return false } }
        guard hasDigits || hasPoint else { return false }
        guard word.take(anyOf: "e", "E") else { return hasPoint }
        _ = word.take(anyOf: "+", "-")
        return word.digits()
    }

    /// An abbreviated hash, or a pointer without `0x`: at least 7 hexadecimal digits, with both decimal digits and
    /// letters, the letters all of one case.
    @Sendable private static func hash(_ word: inout WordReader) -> Bool { word.mixedHexDigits(7...) }
}
