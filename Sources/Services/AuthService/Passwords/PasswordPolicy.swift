import MartletAPI
import MartletCore

/// The rules for new passwords (NIST SP 800-63B §5.1.1.2): long enough and not among the most common ones.
enum PasswordPolicy {
    static let minimumLength = 8
    /// Longer passwords cost work without adding protection.
    static let maximumLengthInBytes = 1_024

    /// - Parameter others: The user name and address, which must not be the password.
    /// - Throws: `invalid-body` with the field; the password never appears in it.
    static func check(_ password: Secret, field: String = "password", besides others: [String?] = []) throws {
        try password.withValue { text in
            guard text.count >= minimumLength else {
                throw ServiceError(
                    .invalidBody, "Expected a password of at least \(minimumLength) characters.", field: field)
            }
            guard text.utf8.count <= maximumLengthInBytes, !text.utf8.contains(0) else {
                throw ServiceError(
                    .invalidBody,
                    "Expected a password of at most \(maximumLengthInBytes) bytes without NUL characters.",
                    field: field)
            }
            let plain = text.lowercased()
            let isObvious =
                CommonPasswords.all.contains(Substring(plain)) || Set(plain).count < 3
                || others.contains { $0?.lowercased() == plain }
            if isObvious {
                throw ServiceError(.invalidBody, "This password is too easy to guess.", field: field)
            }
        }
    }
}
