import Foundation

/// Header lines, without the CRLF at the end.
enum MailHeader {
    /// Bytes of UTF-8 in one encoded word: with `Reply-To: ` before it the line has less than the 76 characters that
    /// are allowed.
    private static let encodedWordLength = 39

    static func text(_ name: String, _ value: String) -> String {
        let value = value.onOneLine
        return "\(name): " + (isPlain(value) ? value : encodedWords(value))
    }

    static func address(_ name: String, _ value: MailAddress) -> String {
        if value.name.isEmpty { return "\(name): \(value.address)" }
        let escaped = value.name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\(name): " + (isPlain(value.name) ? "\"\(escaped)\"" : encodedWords(value.name))
            + "\r\n <\(value.address)>"
    }

    /// RFC 5322 §3.3, in UTC.
    static func date(_ date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
        let day =
            "\(days[(parts.weekday ?? 1) - 1]), \(two(parts.day)) \(months[(parts.month ?? 1) - 1]) \(parts.year ?? 0)"
        return "\(day) \(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) +0000"
    }

    /// What a URI may have stays, all else is percent-encoded (RFC 3986 §2).
    static func uri(_ text: String) -> String {
        text.addingPercentEncoding(
            withAllowedCharacters: CharacterSet(charactersIn: "!#$%&'()*+,/:;=?@[]-._~").union(.alphanumericsOfASCII))
            ?? ""
    }

    /// Whether the text goes as it is: printable ASCII that fits into a line and does not look encoded.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= 60 && text.utf8.allSatisfy { (0x20...0x7e).contains($0) } && !text.contains("=?")
    }

    /// RFC 2047 §2: words of whole characters, in base64, on lines of their own.
    private static func encodedWords(_ text: String) -> String {
        var words: [[UInt8]] = [[]]
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if words[words.count - 1].count + bytes.count > encodedWordLength { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?UTF-8?B?\(Data($0).base64EncodedString())?=" }.joined(separator: "\r\n ")
    }
}

/// RFC 2045 §6.7.
enum QuotedPrintable {
    private static let lineLength = 76

    static func encode(_ text: String) -> String {
        // Line breaks of every kind are breaks of lines.
        text.replacing("\r\n", with: "\n").replacing("\r", with: "\n").split(
            separator: "\n", omittingEmptySubsequences: false
        )
        .map { encode(line: $0.utf8) }.joined(separator: "\r\n")
    }

    private static func encode(line: Substring.UTF8View) -> String {
        var (text, length) = ("", 0)
        for (offset, byte) in line.enumerated() {
            let isBlank = byte == 0x20 || byte == 0x09
            // A blank at the end of a line could get lost.
            let isPlain = isBlank ? offset < line.count - 1 : (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "=")
            let piece =
                isPlain
                ? String(UnicodeScalar(byte)) : "=" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            if length + piece.utf8.count > lineLength - 1 {
                text += "=\r\n"
                length = 0
            }
            text += piece
            length += piece.utf8.count
        }
        return text
    }
}

extension String {
    /// Without control characters: each run of them is a blank, none at the ends.
    var onOneLine: String {
        unicodeScalars.split { !$0.isPrintable }.map { String($0) }.joined(separator: " ").trimmingCharacters(
            in: .whitespaces)
    }
}

extension Unicode.Scalar {
    /// No control character, no separator of lines, and nothing that turns the direction of writing for what follows.
    var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
        default: !(0x202a...0x202e).contains(value) && !(0x2066...0x2069).contains(value)
        }
    }
}

extension CharacterSet {
    fileprivate static let alphanumericsOfASCII = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
}
