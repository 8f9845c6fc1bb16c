import MartletAPI
import MartletHTTP

/// What a staff member signs in by: 1 to 100 of `a-z 0-9 . _ @ -`, a letter or digit first. Capital letters count as
/// small ones.
struct StaffName: Sendable, Equatable {
    let text: String

    /// - Throws: `invalid-body`.
    init(_ text: String, field: String = "userName") throws {
        let small = text.lowercased()
        guard small.wholeMatch(of: /[a-z0-9][a-z0-9._@-]{0,99}/) != nil else {
            throw HTTPProblem(
                .invalidBody, "A user name is 1 to 100 of a-z 0-9 . _ @ - and begins with a letter or digit.",
                field: field)
        }
        self.text = small
    }
}
