import MartletAPI
import MartletCore
import MartletFlags

/// Chooses the version of a definition that a client gets.
struct DefinitionChoice: Sendable {
    let editions: DefinitionEditions

    /// The live version, or its rollout's other version if the flag is off. A client that cannot show this version gets
    /// the newest available earlier one that it can show, or this version if there is none.
    func edition(
        of live: LiveDocument, for subject: Subject, with capabilities: ClientCapabilities, in space: LiveSpace
    ) async throws -> DefinitionEdition {
        let intended = try intended(live, subject, space)
        guard !capabilities.missing(for: intended.definition).isEmpty else { return intended }
        return try await editions.first(before: live, in: space.space) {
            $0.version < intended.version && capabilities.missing(for: $0.definition).isEmpty
        } ?? intended
    }

    /// The part with this digest, from any version that a client may have been referred to.
    func part(_ sha256: String, of live: LiveDocument, in space: LiveSpace) async throws -> DefinitionPart? {
        let newest = try Self.definition(live)
        if let part = newest.part(sha256) { return part }
        if let rollout = newest.rollout, let other = space.version(rollout.otherwise, of: live.key),
            let part = try Self.definition(other).part(sha256)
        {
            return part
        }
        return try await editions.first(before: live, in: space.space) { $0.definition.part(sha256) != nil }?.definition
            .part(sha256)
    }

    private func intended(_ live: LiveDocument, _ subject: Subject, _ space: LiveSpace) throws -> DefinitionEdition {
        let newest = DefinitionEdition(version: live.version, definition: try Self.definition(live))
        guard let rollout = newest.definition.rollout, let other = space.version(rollout.otherwise, of: live.key) else {
            return newest
        }
        // A missing flag is off for everyone.
        if space.flags?.flags.evaluate(rollout.flag, for: subject)?.value.isOn == true { return newest }
        return DefinitionEdition(version: other.version, definition: try Self.definition(other))
    }

    private static func definition(_ document: LiveDocument) throws -> CompiledDefinition {
        guard let definition = document.compiled as? CompiledDefinition else { throw ServiceError(.documentNotFound) }
        return definition
    }
}
