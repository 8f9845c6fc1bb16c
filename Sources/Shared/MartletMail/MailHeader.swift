import Foundation

/// Header lines, without the CRLF at the end.
enum MailHeader {
    /// UTF-8 bytes per encoded word. Even after `Reply-To: ` the line stays below the limit of 76 characters.
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

    /// Formats a date in UTC (RFC 5322 §3.3).
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

    /// Keeps the characters that a URI may contain and percent-encodes all others (RFC 3986 §2).
    static func uri(_ text: String) -> String {
        text.addingPercentEncoding(
            withAllowedCharacters: CharacterSet(charactersIn: "!#$%&'()*+,/:;=?@[]-._~").union(.alphanumericsOfASCII))
            ?? ""
    }

    /// Whether the text needs no encoding: printable ASCII that fits on one line and does not look like an encoded
    /// word.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= 60 && text.utf8.allSatisfy { (0x20...0x7e).contains($0) } && !text.contains("=?")
    }

    /// Encodes the text in base64 words, one per line, without splitting characters (RFC 2047 §2).
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

/// The quoted-printable encoding (RFC 2045 §6.7).
enum QuotedPrintable {
    private static let lineLength = 76

    static func encode(_ text: String) -> String {
        // Normalize CR and CRLF to LF before splitting.
        text.replacing("\r\n", with: "\n").replacing("\r", with: "\n").split(
            separator: "\n", omittingEmptySubsequences: false
        )
        .map { encode(line: $0.utf8) }.joined(separator: "\r\n")
    }

    private static func encode(line: Substring.UTF8View) -> String {
        var (text, length) = ("", 0)
        for (offset, byte) in line.enumerated() {
            let isBlank = byte == 0x20 || byte == 0x09
            // Mail servers may strip white space at the end of a line, so it is encoded.
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
    /// Replaces each run of control characters with a space and trims both ends.
    var onOneLine: String {
        unicodeScalars.split { !$0.isPrintable }.map { String($0) }.joined(separator: " ").trimmingCharacters(
            in: .whitespaces)
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is safe in a header: no control character, no line separator and no bidirectional override.
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
