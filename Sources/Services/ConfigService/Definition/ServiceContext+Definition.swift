import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

extension ServiceContext {
    /// The live definition with the name in the path.
    ///
    /// - Throws: `invalid-name`, `document-not-found`.
    func definition(in space: LiveSpace) throws -> LiveDocument {
        let key = try DocumentKey(checking: parameters.get("name") ?? "", of: .definition)
        guard let live = space[key] else {
            throw ServiceError(.documentNotFound, "No definition with this name is live.")
        }
        return live
    }
}
