import MartletAPI
import MartletCore
import MartletHTTP

/// An e-mail address in lower case (RFC 5321 §4.1.2, without quoted local parts and address literals).
public struct EmailAddress: Sendable, Hashable {
    public let text: String

    /// - Throws: `invalid-body` that names `field`.
    public init(_ text: String, field: String = "email") throws {
        let lowercased = text.lowercased()
        // Lowercasing can turn a non-ASCII letter into an ASCII one (the Kelvin sign becomes `k`), which is a different
        // mailbox.
        let isSame = lowercased.unicodeScalars.count(where: \.isASCII) == text.unicodeScalars.count(where: \.isASCII)
        guard isSame, Self.isWellFormed(lowercased) else {
            throw ServiceError(.invalidBody, "Expected an e-mail address, such as name@example.org.", field: field)
        }
        self.text = lowercased
    }

    private static func isWellFormed(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...64).contains(parts[0].utf8.count), (1...189).contains(parts[1].utf8.count) else {
            return false
        }
        let local = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        let labels = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, local.allSatisfy({ !$0.isEmpty && $0.unicodeScalars.allSatisfy(isAtom) }) else {
            return false
        }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.unicodeScalars.allSatisfy { $0 == "-" || isAlphanumeric($0) }
        }
    }

    private static func isAtom(_ scalar: Unicode.Scalar) -> Bool {
        isAlphanumeric(scalar) || "!#$%&'*+-/=?^_`{|}~".unicodeScalars.contains(scalar)
    }

    /// Accepts letters and digits beyond ASCII (RFC 6531).
    private static func isAlphanumeric(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal
    }
}
