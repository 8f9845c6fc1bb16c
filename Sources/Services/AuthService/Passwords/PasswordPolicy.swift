import MartletAPI
import MartletCore
import MartletHTTP

/// Which passwords people may choose (NIST SP 800-63B §5.1.1.2): long enough, and none that is tried first.
enum PasswordPolicy {
    static let minimumLength = 8
    /// Longer ones would be work for us, and protect no better.
    static let maximumLengthInBytes = 1_024

    /// - Parameter others: what must not be the password either: name and address.
    /// - Throws: `invalid-body` naming the field; never with the password in it.
    static func check(_ password: Secret, field: String = "password", besides others: [String?] = []) throws {
        try password.withValue { text in
            guard text.count >= minimumLength else {
                throw HTTPProblem(.invalidBody, "A password has at least \(minimumLength) characters.", field: field)
            }
            guard text.utf8.count <= maximumLengthInBytes, !text.utf8.contains(0) else {
                throw HTTPProblem(
                    .invalidBody, "A password has at most \(maximumLengthInBytes) bytes, none of them zero.",
                    field: field)
            }
            let plain = text.lowercased()
            let isObvious =
                CommonPasswords.all.contains(Substring(plain)) || Set(plain).count < 3
                || others.contains { $0?.lowercased() == plain }
            if isObvious {
                throw HTTPProblem(.invalidBody, "This password is one of those that are tried first.", field: field)
            }
        }
    }
}
