import Foundation

/// The records of the package's `martlet backup`: its backups, and the last proof that one can be restored.
/// `deploy/debian/libexec/backup` writes the files.
struct BackupRecords: Sendable {
    static let maximumSizeInBytes = 64 << 10

    struct Backup: Codable {
        var id: String?
        var type: String
        var time: String
        var sizeInBytes: Int
    }

    struct Proof: Codable {
        var id: String
        var time: String
        var result: String
        var seconds: Double
    }

    struct Summary: Encodable {
        /// The newest first.
        var backups: [Backup]
        var proof: Proof?
    }

    /// An absolute path.
    let directory: String

    /// Nil if there is no backup.
    func summary() -> Summary? {
        guard let backups = read("backups.json", as: [Backup].self), !backups.isEmpty else { return nil }
        return Summary(backups: backups.reversed(), proof: read("proof.json", as: Proof.self))
    }

    private func read<Value: Decodable>(_ name: String, as type: Value.Type) -> Value? {
        guard let file = FileHandle(forReadingAtPath: directory + "/" + name) else { return nil }
        defer { try? file.close() }
        guard let content = try? file.read(upToCount: Self.maximumSizeInBytes + 1),
            content.count <= Self.maximumSizeInBytes
        else { return nil }
        return try? JSONDecoder().decode(type, from: content)
    }
}
