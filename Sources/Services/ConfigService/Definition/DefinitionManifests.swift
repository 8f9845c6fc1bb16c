import Crypto
import Foundation
import MartletAPI
import MartletCore
import NIOCore
import Synchronization

/// Makes and signs manifests, and remembers what it answered last.
final class DefinitionManifests: Sendable {
    private static let capacity = 2_000
    private static let capacityInBytes = 16 << 20

    private struct Key: Hashable {
        let space: ConfigSpace
        let name: String
        let version: Int
        /// Of the live version.
        let sha256: String
        let content: Int
        /// What stands behind the manifest; clients that can show the same are told the same.
        let more: String
    }

    private struct State {
        var signers: [String: DefinitionSigner] = [:]
        var made: [Key: StoredContent] = [:]
        var sizeInBytes = 0
    }

    private let keys: DefinitionKeyStore
    private let state = Mutex(State())

    init(keys: DefinitionKeyStore) {
        self.keys = keys
    }

    /// `{"manifest":{…},"signature":"…"}` under which `edition` is sent while `live` is the live version: the manifest in canonical form.
    ///
    /// - Parameter more: members behind these, each with a comma before it; empty: none.
    func answer(of edition: DefinitionEdition, live: LiveDocument, in space: ConfigSpace, saying more: String) async throws -> StoredContent {
        let key = Key(space: space, name: live.key.name, version: live.version, sha256: live.sha256, content: edition.version, more: more)
        if let made = state.withLock({ $0.made[key] }) { return made }
        let signer = try await signer(of: space.appID)
        let manifest = try CanonicalJSON.text(of: Self.manifest(edition, live, space, signer.id))
        let signature = try signer.signature(of: manifest)
        let made = StoredContent(Array(#"{"manifest":\#(manifest),"signature":"\#(signature)"\#(more)}"#.utf8))
        let size = made.sizeInBytes + more.utf8.count
        state.withLock { state in
            if state.made.count >= Self.capacity || state.sizeInBytes + size > Self.capacityInBytes { (state.made, state.sizeInBytes) = ([:], 0) }
            if state.made.updateValue(made, forKey: key) == nil { state.sizeInBytes += size }
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
