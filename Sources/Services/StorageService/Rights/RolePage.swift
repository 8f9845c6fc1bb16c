import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The start and length of a page of names.
struct RolePage: Sendable {
    var after = ""
    var limit = 100

    /// - Throws: `invalid-parameter`.
    init(_ request: Request) throws {
        if let text = request.uri.queryParameters["after"] { after = String(text) }
        if let text = request.uri.queryParameters["limit"] {
            limit = try ListQuery.integer(text, "limit", in: 1...1_000)
        }
    }
}

extension ServiceContext {
    /// - Throws: `invalid-name`.
    var role: String {
        get throws {
            let name = component("role")
            guard Grantee.isRoleName(name) else {
                throw ServiceError(
                    .invalidName, "A role's name must have 1 to 64 letters, digits, spaces, _ or -.", field: "role")
            }
            return name
        }
    }
}
