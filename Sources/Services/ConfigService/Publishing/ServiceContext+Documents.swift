import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

extension ServiceContext {
    /// The space whose documents are requested.
    var space: AppSpace {
        get throws {
            let principal = try principal
            guard !principal.appID.isEmpty else { throw ServiceError(.appNotFound) }
            return principal.space
        }
    }

    /// The document kind named in the path; an unknown kind is `not-found`.
    ///
    /// - Throws: `not-found`.
    func kind(_ kinds: Kinds) throws -> DocumentKind {
        guard let kind = parameters.get("kind").flatMap({ DocumentKind(rawValue: $0) }), kinds[kind] != nil else {
            throw ServiceError(.notFound)
        }
        return kind
    }

    /// The document in the path and its author, who must be allowed to do `action`.
    ///
    /// - Throws: The errors of `documentKey` and `author`.
    func managed(_ kinds: Kinds, may action: StaffAction) throws -> (key: DocumentKey, author: Author) {
        let key = try documentKey(kinds)
        return (key, try author(may: action, key.kind.area))
    }

    /// The document in the path.
    ///
    /// - Throws: `not-found`, `invalid-name`.
    func documentKey(_ kinds: Kinds) throws -> DocumentKey {
        try DocumentKey(checking: parameters.get("name") ?? "", of: try kind(kinds))
    }
}
