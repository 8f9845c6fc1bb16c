import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

extension ServiceContext {
    /// The `:id` in the path.
    ///
    /// - Throws: `invalid-id`.
    var messageID: UUID {
        get throws { try uuid("id", else: .invalidID) }
    }

    /// The `:name` in the path, of a template or a segment.
    ///
    /// - Throws: `invalid-name`.
    var pathName: String {
        get throws {
            guard let name = parameters.get("name"), name.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,63}/) != nil
            else {
                throw ServiceError(
                    .invalidName,
                    "A name has 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or digit.",
                    field: "name")
            }
            return name
        }
    }
}
