extension StringProtocol {
    /// The text with scalars replaced, one by one: to Swift a quote before a combining mark is another character, to
    /// readers of files it is that quote.
    func escaping(_ replacement: (Unicode.Scalar) -> String?) -> String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if let replacement = replacement(scalar) {
                text.append(contentsOf: replacement.unicodeScalars)
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }
}

extension Unicode.Scalar {
    /// Four hexadecimal digits at least.
    var hexDigits: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: Swift.max(0, 4 - digits.utf8.count)) + digits
    }
}
