import Crypto
import Foundation
import MartletAPI
import MartletCore
import NIOCore
import Synchronization

/// A manifest in canonical form, and its signature.
struct SignedDefinition: Sendable {
    let manifest: String
    let signature: String
}

/// Makes and signs manifests, and remembers those it made last.
final class DefinitionManifests: Sendable {
    private static let capacity = 2_000

    private struct Key: Hashable {
        let space: ConfigSpace
        let name: String
        let version: Int
        let content: Int
    }

    private struct State {
        var signers: [String: DefinitionSigner] = [:]
        var made: [Key: SignedDefinition] = [:]
    }

    private let keys: DefinitionKeyStore
    private let state = Mutex(State())

    init(keys: DefinitionKeyStore) {
        self.keys = keys
    }

    /// The manifest under which `edition` is sent while `live` is the live version.
    func manifest(of edition: DefinitionEdition, live: LiveDocument, in space: ConfigSpace) async throws -> SignedDefinition {
        let key = Key(space: space, name: live.key.name, version: live.version, content: edition.version)
        if let made = state.withLock({ $0.made[key] }) { return made }
        let signer = try await signer(of: space.appID)
        let manifest = try CanonicalJSON.text(of: Self.manifest(edition, live, space, signer.id))
        let made = SignedDefinition(manifest: manifest, signature: try signer.signature(of: manifest))
        state.withLock { state in
            if state.made.count >= Self.capacity { state.made.removeAll() }
            state.made[key] = made
        }
        return made
    }

    private func signer(of appID: String) async throws -> DefinitionSigner {
        if let known = state.withLock({ $0.signers[appID] }) { return known }
        let signer = try await keys.signer(of: appID)
        state.withLock { state in
            if state.signers.count >= Self.capacity { state.signers.removeAll() }
            state.signers[appID] = signer
        }
        return signer
    }

    private static func manifest(_ edition: DefinitionEdition, _ live: LiveDocument, _ space: ConfigSpace, _ keyID: String) -> JSONValue {
        func number(_ value: Int) -> JSONValue { .number(String(value)) }
        var members: [JSONValue.Member] = [
            .init("schema", number(1)), .init("name", .string(live.key.name)), .init("environment", .string(space.environment.rawValue)),
            .init("version", number(live.version)), .init("content", number(edition.version)),
            .init("published", .string(live.published.formatted(.iso8601))), .init("keyId", .string(keyID)),
            .init("requires", .object(edition.definition.requires.map { .init($0.key, number($0.value)) })),
            .init(
                "parts",
                .array(
                    edition.definition.parts.map {
                        .object([
                            .init("path", .string($0.path)), .init("sha256", .string($0.sha256)), .init("size", number($0.content.readableBytes)),
                        ])
                    })),
        ]
        if let minClient = edition.definition.minClient { members.append(.init("minClient", .string(minClient.text))) }
        return .object(members)
    }
}
