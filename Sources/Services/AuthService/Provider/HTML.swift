/// Text of a page. What is interpolated into a literal is escaped, unless it is HTML itself:
///
///     let page: HTML = "<p>\(name)</p>"
struct HTML: Sendable, ExpressibleByStringInterpolation {
    let text: String

    init(stringLiteral text: String) {
        self.text = text
    }

    init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
    }

    private init(text: String) {
        self.text = text
    }

    /// For content and for attributes in quotes. By code points: a character of Swift may be a quote with an accent on it, which is a quote to
    /// a browser all the same.
    init(escaping text: String) {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;".unicodeScalars
            case "<": escaped += "&lt;".unicodeScalars
            case ">": escaped += "&gt;".unicodeScalars
            case "\"": escaped += "&quot;".unicodeScalars
            case "'": escaped += "&#39;".unicodeScalars
            default: escaped.append(scalar)
            }
        }
        self.text = String(escaped)
    }

    static func joined(_ parts: [HTML]) -> HTML { HTML(text: parts.map(\.text).joined()) }

    struct StringInterpolation: StringInterpolationProtocol {
        var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 32 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ value: String) { text += HTML(escaping: value).text }
        mutating func appendInterpolation(_ value: HTML) { text += value.text }
        /// Nothing for nil.
        mutating func appendInterpolation(_ value: HTML?) { text += value?.text ?? "" }
    }
}
