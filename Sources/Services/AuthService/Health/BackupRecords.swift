import Foundation

/// The records of the package's `martlet backup` and `martlet app backup`: backups, archives of apps, and the last test
/// of restoring each. `backup` and `app-archives.sh` in `deploy/debian/libexec` write the files.
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

    struct Run: Codable {
        var command: String
        var time: String
        var seconds: Double
        var result: String
    }

    struct Summary: Encodable {
        /// The newest first.
        var backups: [Backup]
        var proof: Proof?
        /// The newest first. Nil if an older version wrote the records.
        var runs: [Run]?
    }

    /// The archives of one app.
    struct AppArchives: Codable {
        var app: String
        /// The number of archives kept.
        var archives: Int
        /// The time of the last archive. Nil if there is none.
        var time: String?
        var sizeInBytes: Int?
        var lastRun: String
        var lastResult: String
        var proof: Proof?
    }

    /// An absolute path.
    let directory: String

    /// Nil if there are no backups and no records of runs.
    func summary() -> Summary? {
        let backups = read("backups.json", as: [Backup].self) ?? []
        let runs = read("runs.json", as: [Run].self)
        guard !backups.isEmpty || runs?.isEmpty == false else { return nil }
        return Summary(
            backups: backups.reversed(), proof: read("proof.json", as: Proof.self), runs: runs?.reversed())
    }

    /// The app with the newest run first. Nil if `martlet app backup` keeps no archives.
    func appArchives() -> [AppArchives]? {
        guard let apps = read("apps.json", as: [AppArchives].self), !apps.isEmpty else { return nil }
        return apps.reversed()
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
