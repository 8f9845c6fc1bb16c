import Foundation

/// The id and secret that the app generates once on a device, and keeps.
///
/// The id is the unit of experiments, the anonymous id of events and the id of the installation for push, so that all
/// three count the same devices.
package struct InstallationIdentity: Sendable, Equatable {
    /// A UUID in lower case.
    package let id: String
    /// 32 random bytes in base64url. Whoever has it may change the installation.
    let secret: String

    /// Reads the identity, or makes one.
    static func load(from folder: LocalFolder) -> InstallationIdentity {
        if let stored = folder.readJSON(file), let id = stored["id"]?.stringValue, UUID(uuidString: id) != nil,
            let secret = stored["secret"]?.stringValue, secret.utf8.count == 43
        {
            return InstallationIdentity(id: id, secret: secret)
        }
        let made = InstallationIdentity(id: UUID().uuidString.lowercased(), secret: Data.random(count: 32).base64URL)
        // If the disk is full, the identity is valid until the process ends.
        try? folder.write(JSON.object(["id": .string(made.id), "secret": .string(made.secret)]).data, to: file)
        return made
    }

    private static let file = "installation.json"
}

extension InstallationIdentity: CustomStringConvertible {
    package var description: String { "InstallationIdentity(id: \(id), secret: <redacted>)" }
}
