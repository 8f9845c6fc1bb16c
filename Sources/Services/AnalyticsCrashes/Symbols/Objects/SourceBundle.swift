import MartletCore

/// A bundle of source files made by `sentry-cli debug-files upload --include-sources` or `bundle-sources`: `SYSB`, a
/// version, and a zip whose `manifest.json` has the compiler's path of each entry.
struct SourceBundle: Sendable {
    static let magic: [UInt8] = Array("SYSB".utf8)
    private static let version: UInt32 = 2
    private static let maximumManifestInBytes = 2 << 20
    /// Maximum size of one source file.
    private static let maximumTextInBytes = 1 << 20

    let debugID: DebugID
    let architecture: String
    private let archive: ZipDirectory
    /// The names of entries by the paths of their source files.
    private let entries: [String: String]

    /// - Throws: `ObjectFile.Refusal`.
    init(of source: ObjectSource) async throws {
        let header = ObjectFields(bytes: try await source.read(0, 8), isBigEndian: false)
        guard header.bytes.starts(with: Self.magic), try header.word(4) <= Self.version else {
            throw ObjectFile.Refusal(reason: "The source bundle has an unsupported version.")
        }
        archive = try await ZipDirectory(of: source)
        guard let text = try await archive.read("manifest.json", upTo: Self.maximumManifestInBytes),
            let manifest = try? JSONValue(parsing: text)
        else {
            throw ObjectFile.Refusal(reason: "The source bundle has no manifest.")
        }
        guard let debugID = manifest["debug_id"]?.plainText.flatMap({ DebugID($0) }) else {
            throw ObjectFile.Refusal(reason: "The source bundle does not name a debug id.")
        }
        self.debugID = debugID
        architecture = String((manifest["arch"]?.plainText ?? "unknown").prefix(32))
        var entries: [String: String] = [:]
        if case .object(let files) = manifest["files"] {
            for file in files where file.value["type"]?.plainText == "source" {
                if let path = file.value["path"]?.plainText { entries[path] = file.name }
            }
        }
        self.entries = entries
    }

    /// The text of a source file; nil if it is missing or damaged.
    ///
    /// - Throws: Errors of reading the bundle.
    func text(of path: String) async throws -> String? {
        guard let entry = entries[path] else { return nil }
        do {
            return try await archive.read(entry, upTo: Self.maximumTextInBytes).map {
                String(decoding: $0, as: UTF8.self)
            }
        } catch is ObjectFile.Refusal {
            return nil
        }
    }
}
