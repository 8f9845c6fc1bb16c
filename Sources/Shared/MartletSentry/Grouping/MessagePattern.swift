import Foundation

/// Messages without what is different each time: numbers, ids, addresses, times, what stands in quotation marks.
public enum MessagePattern {
    private static let maximumLength = 1_000

    /// The first two lines, with each such word replaced by what it is: `cannot open <quoted> after <duration>`.
    public static func of(_ message: String) -> String {
        let lines = message.cut(toBytes: maximumLength).split(separator: "\n").prefix(2).map { Substring($0).trimmed }
        return words(Array(lines.joined(separator: "\n").utf8))
    }

    private static func words(_ bytes: [UInt8]) -> String {
        var output = ""
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            if let end = endOfQuotation(bytes, position) {
                output += "<quoted>"
                position = end
            } else if isSeparator(byte) {
                output.unicodeScalars.append(Unicode.Scalar(byte))
                position += 1
            } else {
                let start = position
                while position < bytes.count, !isSeparator(bytes[position]) { position += 1 }
                if String(decoding: bytes[start..<position], as: UTF8.self).has("://") {
                    while position < bytes.count, !endsAddress(bytes[position]) { position += 1 }
                }
                output += word(String(decoding: bytes[start..<position], as: UTF8.self))
            }
        }
        return output
    }

    /// Behind the quotation that begins here, if one does: a mark at the beginning of a word, and another at the end of one.
    private static func endOfQuotation(_ bytes: [UInt8], _ start: Int) -> Int? {
        let mark = bytes[start]
        guard mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'") || mark == UInt8(ascii: "`") else { return nil }
        guard start == 0 || isSeparator(bytes[start - 1]) else { return nil }
        var end = start + 1
        while end < bytes.count, bytes[end] != 0x0a {
            if bytes[end] == mark, end + 1 == bytes.count || !isWordPart(bytes[end + 1]) { return end + 1 }
            end += 1
        }
        return nil
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "<"),
            UInt8(ascii: ">"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "|"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
            true
        default: false
        }
    }

    private static func endsAddress(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: ")"), UInt8(ascii: ","): true
        default: false
        }
    }

    private static func isWordPart(_ byte: UInt8) -> Bool { byte >= 0x80 || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber }

    /// Punctuation around it stays.
    private static func word(_ word: String) -> String {
        let end = word.lastIndex { !".:!?…".contains($0) }
        guard let end else { return word }
        let core = word[...end]
        return kind(core) + word[word.index(after: end)...]
    }

    private static func kind(_ word: Substring) -> String {
        if word.utf8.count > 2, word.contains("://") { return "<url>" }
        if let at = word.firstIndex(of: "@"), word[at...].contains("."), at != word.startIndex { return "<email>" }
        if word.wholeMatch(of: #/[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}/#) != nil { return "<uuid>" }
        guard word.utf8.contains(where: { (0x30...0x39).contains($0) }) || word.utf8.count >= 32 || word.contains("::") else {
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
        for (pattern, name) in patterns where word.wholeMatch(of: pattern) != nil { return name }
        // `item-42/7` and `0x1e59bc50:`: what is counted in it.
        return withoutCounts(word.has("0x") ? String(word.replacing(#/0x[0-9a-fA-F]+/#, with: "<hex>")) : String(word))
    }

    /// `<int>` for digits that stand alone between signs.
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

    nonisolated(unsafe) private static let patterns: [(Regex<Substring>, String)] = [
        (#/0[xX][0-9a-fA-F]+/#, "<hex>"),
        (#/\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d+)?/#, "<ip>"),
        (#/\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?/#, "<time>"),
        (#/(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}/#, "<ip>"),
        (#/\d{4}-\d{2}-\d{2}(?:T\S+)?/#, "<date>"),
        (#/[-+]?\d+(?:\.\d+)?(?:ns|us|µs|ms|s|sec|secs|seconds|m|min|mins|minutes|h|hours|d|days)/#, "<duration>"),
        (#/[-+]?\d+/#, "<int>"),
        (#/[-+]?\d*\.\d+(?:[eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+/#, "<float>"),
        // A hash in short, or a pointer without its sign: digits and letters of hexadecimal, both.
        (#/(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}|(?=[A-F]*\d)(?=\d*[A-F])[0-9A-F]{7,}/#, "<hex>"),
    ]
}
