import MartletCore
import MartletHTTP

extension VersionNumber {
    /// - Throws: `invalid-body`.
    init(_ text: String, field: String) throws {
        guard let number = VersionNumber(text) else {
            throw ServiceError.unexpectedMember(
                field,
                expected: """
                    1 to 4 whole numbers separated by dots, optionally with a pre-release, such as 1.10.2 or 2.0-beta.1
                    """,
                found: text)
        }
        self = number
    }
}
