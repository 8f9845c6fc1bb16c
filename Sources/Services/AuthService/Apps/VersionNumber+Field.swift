import MartletAPI
import MartletCore
import MartletHTTP

extension VersionNumber {
    /// - Throws: `invalid-body`.
    init(_ text: String, field: String) throws {
        guard let number = VersionNumber(text) else {
            throw HTTPProblem(
                .invalidBody,
                "A version is 1 to 4 whole numbers with dots between them, perhaps with a pre-release: 1.10.2 or 2.0-beta.1.",
                field: field)
        }
        self = number
    }
}
