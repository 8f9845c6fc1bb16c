import MartletCore
import MartletPostgres
import Synchronization

/// A published version of a definition.
struct DefinitionEdition: Sendable {
    let version: Int
    let definition: CompiledDefinition
}

/// Earlier live versions of definitions. Clients may still be downloading their parts, and old clients cannot show
/// newer ones.
final class DefinitionEditions: Sendable {
    /// How many versions before the live one remain available.
    static let availableVersions = 10
    private static let capacityInBytes = 64 << 20

    private struct Key: Hashable {
        let space: AppSpace
        let name: String
        let version: Int
    }

    private struct State {
        /// Nil if there is no such version or this program cannot read it.
        var editions: [Key: DefinitionEdition?] = [:]
        var sizeInBytes = 0
    }

    private let versions: VersionStore
    private let kind = DefinitionKind()
    private let state = Mutex(State())

    init(versions: VersionStore) {
        self.versions = versions
    }

    /// The newest version before the live one that `isWanted` accepts. Versions of a deleted definition with the same
    /// name are skipped.
    func first(before live: LiveDocument, in space: AppSpace, where isWanted: (DefinitionEdition) -> Bool)
        async throws -> DefinitionEdition?
    {
        for version in stride(
            from: live.version - 1, through: max(live.firstVersion, live.version - Self.availableVersions), by: -1)
        {
            if let edition = try await edition(version, of: live.key, in: space), isWanted(edition) { return edition }
        }
        return nil
    }

    private func edition(_ version: Int, of document: DocumentKey, in space: AppSpace) async throws
        -> DefinitionEdition?
    {
        let key = Key(space: space, name: document.name, version: version)
        if let known = state.withLock({ $0.editions[key] }) { return known }
        var edition: DefinitionEdition?
        var size = 64
        if let (_, content) = try await versions.read(version, of: document, in: space) {
            size = content.utf8.count * 2
            let compiled = try? kind.compile(JSONValue(parsing: content.utf8), named: document.name)
            edition = (compiled as? CompiledDefinition).map { DefinitionEdition(version: version, definition: $0) }
        }
        state.withLock { state in
            if state.sizeInBytes + size > Self.capacityInBytes { state = State() }
            state.editions[key] = .some(edition)
            state.sizeInBytes += size
        }
        return edition
    }
}
