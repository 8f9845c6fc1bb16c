import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import Synchronization

/// Shows drafts of definitions to test devices that send the app's key and a token created by staff or the app's
/// server.
///
/// A token is `<id>.<mac>`: the preview's id, a UUID, and the base64url of the HMAC-SHA-256 (RFC 2104) of the id and
/// the draft. Forged tokens are rejected without a query. The database stores which previews are open, but nothing from
/// which a token could be created.
final class DefinitionPreviews: Sendable {
    static let maximumHours = 7 * 24
    private static let capacity = 20

    private struct Key: Hashable {
        let space: AppSpace
        let name: String
    }

    private let key: SymmetricKey
    let store: PreviewStore
    private let documents: DocumentStore
    private let live: LiveDocuments
    let now: @Sendable () -> Date
    private let compiled = Mutex<[Key: (revision: Int64, definition: CompiledDefinition)]>([:])

    init(
        internalSecret: Secret, store: PreviewStore, documents: DocumentStore, live: LiveDocuments,
        now: @escaping @Sendable () -> Date
    ) {
        key = internalSecret.withValue { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)), info: Data("martlet config previews".utf8),
                outputByteCount: 32)
        }
        self.store = store
        self.documents = documents
        self.live = live
        self.now = now
    }

    /// - Throws: The errors of `PreviewStore.add`.
    func make(of key: DocumentKey, in space: AppSpace, until end: Date, by author: Author) async throws -> (
        id: UUID, token: String
    ) {
        let id = try await store.add(key, in: space, until: end, by: author)
        return (id, token(for: key.name, in: space, by: id))
    }

    private func token(for name: String, in space: AppSpace, by id: UUID) -> String {
        "\(id.uuidString.lowercased()).\(Base64URL.encode(HMAC<SHA256>.authenticationCode(for: Self.message(name, space, id), using: key)))"
    }

    /// The current draft that a token opens.
    ///
    /// - Throws: `document-not-found` for a token of another draft or an expired or revoked preview; `document-refused`
    ///   for a draft with errors.
    func draft(of name: String, in space: AppSpace, by token: Substring) async throws -> DefinitionDraft {
        let document = DocumentKey(.definition, name)
        guard let id = id(in: token, for: name, in: space),
            try await store.isOpen(id, of: document, in: space, at: now()),
            let row = try await documents.read(document, in: space), let draft = row.draft
        else {
            throw ServiceError(.documentNotFound, "There is no such preview, or it has expired.")
        }
        return DefinitionDraft(
            revision: row.revision, version: row.lastVersion + 1, changed: row.changed,
            definition: try await definition(draft, of: document, row.revision, in: space))
    }

    private func definition(_ draft: String, of document: DocumentKey, _ revision: Int64, in space: AppSpace)
        async throws -> CompiledDefinition
    {
        let key = Key(space: space, name: document.name)
        if let known = compiled.withLock({ $0[key] }), known.revision == revision { return known.definition }
        let kind = DefinitionKind()
        let content = try JSONValue(parsing: draft.utf8)
        let findings = kind.check(content, named: document.name, in: try await live.current(space))
        guard !findings.contains(where: { $0.severity == .error }),
            let definition = try kind.compile(content, named: document.name) as? CompiledDefinition
        else { throw ServiceError(.documentRefused, "The draft has errors; see findings.", findings: findings.limited) }
        compiled.withLock { compiled in
            if compiled.count >= Self.capacity { compiled.removeAll() }
            compiled[key] = (revision, definition)
        }
        return definition
    }

    /// Nil if the token was not created by this service for this draft.
    private func id(in token: Substring, for name: String, in space: AppSpace) -> UUID? {
        let parts = token.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let id = UUID(uuidString: String(parts[0])), let mac = Base64URL.decode(parts[1]),
            HMAC<SHA256>.isValidAuthenticationCode(mac, authenticating: Self.message(name, space, id), using: key)
        else { return nil }
        return id
    }

    /// The version of this format and the fields, each preceded by its length, so that no two drafts give the same
    /// bytes.
    private static func message(_ name: String, _ space: AppSpace, _ id: UUID) -> Data {
        let fields = ["2", space.appID, space.environment.rawValue, name, id.uuidString.lowercased()]
        return Data(fields.map { "\($0.utf8.count):\($0)" }.joined().utf8)
    }
}

/// A draft as shown in a preview.
struct DefinitionDraft: Sendable {
    let revision: Int64
    /// The version that the draft would get if it were published now.
    let version: Int
    let changed: Date
    let definition: CompiledDefinition
}
