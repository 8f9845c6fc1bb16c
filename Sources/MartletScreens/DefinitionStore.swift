import Foundation
import MartletKit
import MartletLogic

/// The last good manifest of a definition on disk, and the parts by their digests.
struct DefinitionStore: Sendable {
    /// A manifest has 501 parts at most, and one member for each fallback.
    static let maximumManifestSize = 2 << 20
    static let maximumParts = 501
    /// The server takes documents of at most 1 MiB.
    static let maximumSize = 4 << 20
    private static let manifestFile = "manifest.json"
    private static let latestFile = "latest.json"

    let folder: LocalFolder

    /// A signed manifest as the server sent it.
    struct Answer: Sendable {
        let json: Data
        let entityTag: String?
    }

    var answer: Answer? {
        guard let kept = folder.readJSON(Self.manifestFile), let text = kept["answer"]?.stringValue,
            text.utf8.count <= Self.maximumManifestSize
        else { return nil }
        return Answer(json: Data(text.utf8), entityTag: kept["etag"]?.stringValue)
    }

    /// The highest version signed by one of these keys that the device has ever seen. Versions signed by a key that the
    /// app no longer trusts do not count: the key may have been stolen, and the thief may have signed a very high one.
    func latestVersion(trusted keys: [DefinitionKey]) -> Int? { latestVersions(trusted: keys).values.max() }

    private func latestVersions(trusted keys: [DefinitionKey]) -> [String: Int] {
        let trusted = Set(keys.map(\.id))
        return (folder.readJSON(Self.latestFile)?.objectValue ?? [:]).filter { trusted.contains($0.key) }
            .compactMapValues(\.intValue)
    }

    /// Remembers the version of a verified manifest. Unlike the manifest, it is kept when the definition is damaged or
    /// no longer supported.
    func note(_ manifest: DefinitionManifest, trusted keys: [DefinitionKey]) throws {
        var latest = latestVersions(trusted: keys)
        guard manifest.version > latest[manifest.keyId] ?? Int.min else { return }
        latest[manifest.keyId] = manifest.version
        try folder.write(JSON.object(latest.mapValues { .number(JSONNumber($0)) }).data, to: Self.latestFile)
    }

    /// The part, if the device has it undamaged.
    func part(_ part: DefinitionManifest.Part) -> JSON? {
        guard let data = folder.read(Self.file(part)) else { return nil }
        return try? Self.check(data, part)
    }

    func keep(_ data: Data, as part: DefinitionManifest.Part) throws { try folder.write(data, to: Self.file(part)) }

    /// Makes this the last good manifest, then removes the parts that neither it nor the previous one needs. The parts
    /// of the previous one stay, so that after a rollback nothing has to be loaded again.
    func keep(_ answer: Answer, _ manifest: DefinitionManifest, after previous: DefinitionManifest?) throws {
        let kept: JSON = [
            "etag": answer.entityTag.map(JSON.string) ?? .null,
            "answer": .string(String(decoding: answer.json, as: UTF8.self)),
        ]
        try folder.write(kept.data, to: Self.manifestFile)
        let needed = Set((manifest.parts + (previous?.parts ?? [])).map(Self.file))
        for name in folder.names where name.hasPrefix("part-") && !needed.contains(name) { folder.remove(name) }
    }

    /// - Throws: `MartletError` with `definitionRefused` unless size and digest match the manifest.
    static func check(_ data: Data, _ part: DefinitionManifest.Part) throws -> JSON {
        guard data.count == part.size, SHA256Digest.hexadecimal(data) == part.sha256 else {
            throw MartletError(.definitionRefused, "\(part.path) does not match the manifest.")
        }
        do {
            return try JSON(parsing: data)
        } catch {
            throw MartletError(.definitionRefused, "\(part.path) is damaged.", underlyingError: error)
        }
    }

    private static func file(_ part: DefinitionManifest.Part) -> String { "part-\(part.sha256).json" }
}

extension DefinitionManifest {
    /// Checks what a signature does not guarantee: limits, and digests that are safe as file names.
    func checkShape() throws {
        let isHash = { (text: String) in
            text.utf8.count == 64 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
        }
        var size = 0
        for part in parts {
            guard isHash(part.sha256), (0...DefinitionStore.maximumSize).contains(part.size) else {
                throw MartletError(.definitionRefused, "The manifest names a part that cannot be loaded.")
            }
            size += part.size
        }
        guard parts.count <= DefinitionStore.maximumParts, size <= DefinitionStore.maximumSize else {
            throw MartletError(
                .definitionRefused, "The definition is larger than \(DefinitionStore.maximumSize) bytes.")
        }
    }
}
