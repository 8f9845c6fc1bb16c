import Crypto
import Foundation
import MartletAPI
import MartletCore
import NIOCore
import Synchronization

/// Creates, signs and caches manifests.
final class DefinitionManifests: Sendable {
    private static let capacity = 2_000
    private static let capacityInBytes = 16 << 20

    /// How long a manifest remains valid after the day (UTC) of its signature. All manifests of one day are identical.
    static let validity: TimeInterval = 7 * 86_400

    /// The identity of a manifest.
    struct Head: Hashable {
        let space: AppSpace
        /// The environment as named in the manifest.
        let environment: String
        let name: String
        let version: Int
        /// Distinguishes this version from another with the same number.
        let tag: String
        let published: Date
    }

    private struct Key: Hashable {
        let head: Head
        let expires: Date
        /// The version that the client gets; it can be older than the head's.
        let content: Int
        /// The members after the manifest. Clients with equal capabilities share one answer.
        let more: String
    }

    private struct State {
        var signers: [String: DefinitionSigner] = [:]
        var answers: [Key: StoredContent] = [:]
        var sizeInBytes = 0
    }

    private let keys: DefinitionKeyStore
    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    init(keys: DefinitionKeyStore, now: @escaping @Sendable () -> Date) {
        self.keys = keys
        self.now = now
    }

    /// The answer `{"manifest":{…},"signature":"…"}` for an edition, with the manifest in canonical form.
    ///
    /// - Parameter more: Further members, each preceded by a comma; may be empty.
    func answer(of edition: DefinitionEdition, under head: Head, adding more: String) async throws
        -> StoredContent
    {
        // The validity starts at the end of the current day.
        let expires = Date(
            timeIntervalSince1970: ((now().timeIntervalSince1970 / 86_400).rounded(.down) + 1) * 86_400 + Self.validity)
        let key = Key(head: head, expires: expires, content: edition.version, more: more)
        if let known = state.withLock({ $0.answers[key] }) { return known }
        let signer = try await signer(of: head.space.appID)
        let manifest = try CanonicalJSON.text(of: Self.manifest(edition, head, expires, signer.id))
        let signature = try signer.signature(of: manifest)
        let answer = StoredContent(Array(#"{"manifest":\#(manifest),"signature":"\#(signature)"\#(more)}"#.utf8))
        let size = answer.sizeInBytes + more.utf8.count
        state.withLock { state in
            if state.answers.count >= Self.capacity || state.sizeInBytes + size > Self.capacityInBytes {
                (state.answers, state.sizeInBytes) = ([:], 0)
            }
            if state.answers.updateValue(answer, forKey: key) == nil { state.sizeInBytes += size }
        }
        return answer
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

    private static func manifest(_ edition: DefinitionEdition, _ head: Head, _ expires: Date, _ keyID: String)
        -> JSONValue
    {
        func number(_ value: Int) -> JSONValue { .number(String(value)) }
        var members: [JSONValue.Member] = [
            .init("schema", number(1)), .init("name", .string(head.name)),
            .init("environment", .string(head.environment)),
            .init("version", number(head.version)), .init("content", number(edition.version)),
            .init("published", .string(head.published.formatted(.iso8601))),
            .init("expires", .string(expires.formatted(.iso8601))), .init("keyId", .string(keyID)),
            .init("requires", .object(edition.definition.requires.map { .init($0.key, number($0.value)) })),
            .init(
                "parts",
                .array(
                    edition.definition.parts.map {
                        .object([
                            .init("path", .string($0.path)), .init("sha256", .string($0.sha256)),
                            .init("size", number($0.content.readableBytes)),
                        ])
                    })),
        ]
        if let minClient = edition.definition.minClient { members.append(.init("minClient", .string(minClient.text))) }
        return .object(members)
    }
}

extension DefinitionManifests.Head {
    init(_ live: LiveDocument, in space: AppSpace) {
        self.init(
            space: space, environment: space.environment.rawValue, name: live.key.name, version: live.version,
            tag: live.sha256, published: live.published)
    }

    /// The environment ends in `-preview`, so no client mistakes the draft for a published version.
    init(_ draft: DefinitionDraft, of name: String, in space: AppSpace) {
        self.init(
            space: space, environment: space.environment.rawValue + "-preview", name: name, version: draft.version,
            tag: "draft \(draft.revision)",
            published: draft.changed)
    }
}
