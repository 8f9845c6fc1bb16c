import Foundation
import MartletCore

/// The secrets of one server's processes: `.martlet/secrets.json`, mode 600, generated once.
struct StoredSecrets: Codable, Sendable {
    /// Signs principals for calls between our processes.
    var internalSecret: String
    /// Password of the cluster's superuser.
    var superuserPassword: String
    /// Service name → password of its database role.
    var servicePasswords: [String: String]

    static func readOrMake(at file: URL) throws -> StoredSecrets {
        if FileManager.default.fileExists(atPath: file.path) {
            return try JSONDecoder().decode(StoredSecrets.self, from: Data(contentsOf: file))
        }
        func random() -> String { Secret.random().withValue { $0 } }
        let secrets = StoredSecrets(
            internalSecret: random(), superuserPassword: random(),
            servicePasswords: Dictionary(uniqueKeysWithValues: ServiceRole.all.map { ($0.name, random()) }))
        try PrivateFile.write(try JSONEncoder().encode(secrets), to: file)
        return secrets
    }
}
