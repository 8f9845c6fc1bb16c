/// An address of a message, with a name for people. What could end a header's line, or add a recipient, is in neither.
public struct MailAddress: Sendable, Equatable {
    /// Scalars that a name may have.
    public static let maximumNameLength = 100

    /// May be empty. Control characters have become blanks.
    public let name: String
    /// RFC 5321 §4.1.2, without quoted local parts.
    public let address: String

    /// - Throws: when `address` is none.
    public init(name: String = "", address: String) throws(MailAddressError) {
        guard Self.isWellFormed(address) else { throw MailAddressError() }
        self.name = String(String.UnicodeScalarView(name.onOneLine.unicodeScalars.prefix(Self.maximumNameLength)))
        self.address = address
    }

    /// `Shop <no-reply@example.org>`, or the address alone.
    ///
    /// - Throws: when it is neither.
    public init(parsing text: String) throws(MailAddressError) {
        guard text.last == ">", let start = text.lastIndex(of: "<") else {
            try self.init(address: text)
            return
        }
        var name = text[..<start].trimming { $0 == " " }
        if name.count >= 2, name.first == "\"", name.last == "\"" { name = name.dropFirst().dropLast() }
        try self.init(name: String(name), address: String(text[text.index(after: start)...].dropLast()))
    }

    /// Of the address, for ids.
    var domain: Substring { address[(address.lastIndex(of: "@").map(address.index(after:)) ?? address.startIndex)...] }

    private static func isWellFormed(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...64).contains(parts[0].utf8.count), (1...189).contains(parts[1].utf8.count) else {
            return false
        }
        return text.unicodeScalars.allSatisfy { scalar in
            scalar.isPrintable && !scalar.properties.isWhitespace && !"()<>[]:;,\\\"".unicodeScalars.contains(scalar)
        }
    }
}

/// The text is no address. It is not quoted: it may hold anything.
public struct MailAddressError: Error {}

extension Substring {
    fileprivate func trimming(_ isDropped: (Character) -> Bool) -> Substring {
        var rest = drop(while: isDropped)
        while let last = rest.last, isDropped(last) { rest.removeLast() }
        return rest
    }
}
