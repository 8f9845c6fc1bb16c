import Foundation

/// The files in which `MartletScreens` keeps models. MartletKit knows them, because it removes them when the user
/// changes, even if the app has not used a definition since it was started.
package enum UserModels {
    package static let prefix = "model-"

    /// Each user has separate files. Without a signed-in user, the device has files of its own.
    package static func prefix(of user: String?) -> String {
        prefix + (user.map { SHA256Digest.hexadecimal(Data($0.utf8)) } ?? "nobody") + "-"
    }

    /// Removes the models of all other users, in all definitions.
    static func forget(allBut user: String?, in folder: LocalFolder) {
        for definition in folder.names.map(folder.subfolder) {
            for name in definition.names where name.hasPrefix(prefix) && !name.hasPrefix(prefix(of: user)) {
                definition.remove(name)
            }
        }
    }
}
