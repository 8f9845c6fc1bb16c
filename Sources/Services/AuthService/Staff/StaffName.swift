import MartletAPI
import MartletCore

/// The name that a staff member signs in with: 1 to 100 characters from `a-z 0-9 . _ @ -`, starting with a letter or
/// digit. Case does not matter.
struct StaffName: Sendable, Equatable {
    let text: String

    /// - Throws: `invalid-body`.
    init(_ text: String, field: String = "userName") throws {
        let small = text.lowercased()
        guard small.wholeMatch(of: /[a-z0-9][a-z0-9._@-]{0,99}/) != nil else {
            throw ServiceError(
                .invalidBody,
                "Expected a user name of 1 to 100 of the characters a-z 0-9 . _ @ -, starting with a letter or digit.",
                field: field)
        }
        self.text = small
    }
}
