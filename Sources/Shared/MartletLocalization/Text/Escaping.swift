extension StringProtocol {
    /// Replaces scalars one by one. To Swift a quote before a combining mark is a different character, but readers of
    /// files see the quote.
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
    /// At least four hexadecimal digits.
    var hexDigits: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: Swift.max(0, 4 - digits.utf8.count)) + digits
    }
}
