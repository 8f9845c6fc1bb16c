/// A mailbox with an optional display name. Neither part can end a header line or add a recipient.
public struct MailAddress: Sendable, Equatable {
    /// The longest display name, in Unicode scalars.
    public static let maximumNameLength = 100

    /// May be empty. Runs of control characters are replaced by a space.
    public let name: String
    /// The address in the form of RFC 5321 §4.1.2, without quoted local parts.
    public let address: String

    /// - Throws: When `address` is malformed.
    public init(name: String = "", address: String) throws(MailAddressError) {
        guard Self.isWellFormed(address) else { throw MailAddressError() }
        self.name = String(String.UnicodeScalarView(name.onOneLine.unicodeScalars.prefix(Self.maximumNameLength)))
        self.address = address
    }

    /// Parses `Shop <no-reply@example.org>` or an address alone.
    ///
    /// - Throws: When the text has neither form.
    public init(parsing text: String) throws(MailAddressError) {
        guard text.last == ">", let start = text.lastIndex(of: "<") else {
            try self.init(address: text)
            return
        }
        var name = text[..<start].trimming { $0 == " " }
        if name.count >= 2, name.first == "\"", name.last == "\"" { name = name.dropFirst().dropLast() }
        try self.init(name: String(name), address: String(text[text.index(after: start)...].dropLast()))
    }

    /// The domain of the address, used for message ids.
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

/// The text is not an address. The error does not quote it, because it may contain anything.
public struct MailAddressError: Error {}

extension Substring {
    fileprivate func trimming(_ isDropped: (Character) -> Bool) -> Substring {
        var rest = drop(while: isDropped)
        while let last = rest.last, isDropped(last) { rest.removeLast() }
        return rest
    }
}
