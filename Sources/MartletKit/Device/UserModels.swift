import Foundation

/// The files of models that `MartletScreens` keeps. They are here, because they are removed when the user changes, even
/// if the app has not used a definition since it was started.
package enum UserModels {
    package static let prefix = "model-"

    /// Each user has files of their own, and so has a device without a user.
    package static func prefix(of user: String?) -> String {
        prefix + (user.map { SHA256Digest.hexadecimal(Data($0.utf8)) } ?? "nobody") + "-"
    }

    /// Removes what other users' models were, of all definitions.
    static func forget(allBut user: String?, in folder: LocalFolder) {
        for definition in folder.names.map(folder.subfolder) {
            for name in definition.names where name.hasPrefix(prefix) && !name.hasPrefix(prefix(of: user)) {
                definition.remove(name)
            }
        }
    }
}
