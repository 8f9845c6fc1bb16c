import Crypto
import Foundation

/// The code of an invitation: 80 random bits as 16 digits and letters (Crockford's base 32), `K7QX-09AB-…`.
///
/// Case, hyphens and spaces do not matter, nor whether an O stands for a 0, or an I or L for a 1.
struct RoleInvitationCode: Sendable, Equatable {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    private static let length = 16
    static let maximumTextInBytes = 100

    private let digits: String

    static func random() -> RoleInvitationCode {
        RoleInvitationCode(digits: String((0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] }))
    }

    private init(digits: String) { self.digits = digits }

    /// Nil if the text is not a code.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumTextInBytes else { return nil }
        let digits = text.uppercased().filter { $0 != "-" && $0 != " " }.map { digit -> Character in
            switch digit {
            case "O": "0"
            case "I", "L": "1"
            default: digit
            }
        }
        guard digits.count == Self.length, digits.allSatisfy(Self.alphabet.contains) else { return nil }
        self.digits = String(digits)
    }

    /// In groups of four.
    var text: String {
        stride(from: 0, to: Self.length, by: 4).map { String(digits.dropFirst($0).prefix(4)) }.joined(separator: "-")
    }

    /// SHA-256, under which it is stored.
    var digest: Data { Data(SHA256.hash(data: Data(digits.utf8))) }
}
