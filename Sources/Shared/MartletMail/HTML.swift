/// HTML of a page or a mail. Interpolated strings are escaped; interpolated `HTML` is not:
///
///     let page: HTML = "<p>\(name)</p>"
public struct HTML: Sendable, ExpressibleByStringInterpolation {
    public let text: String

    public init(stringLiteral text: String) {
        self.text = text
    }

    public init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
    }

    private init(text: String) {
        self.text = text
    }

    /// Escapes text for element content and quoted attributes. Works on Unicode scalars, because a Swift character may
    /// be a quote with a combining accent, which browsers still treat as a quote.
    public init(escaping text: String) {
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

    public static func joined(_ parts: [HTML]) -> HTML { HTML(text: parts.map(\.text).joined()) }

    public struct StringInterpolation: StringInterpolationProtocol {
        var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 32 * interpolationCount)
        }

        public mutating func appendLiteral(_ literal: String) { text += literal }
        public mutating func appendInterpolation(_ value: String) { text += HTML(escaping: value).text }
        public mutating func appendInterpolation(_ value: HTML) { text += value.text }
        /// Appends nothing for nil.
        public mutating func appendInterpolation(_ value: HTML?) { text += value?.text ?? "" }
    }
}
