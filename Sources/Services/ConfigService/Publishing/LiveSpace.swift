import Foundation
import MartletCore
import NIOCore
import Synchronization

/// A published version as served to clients.
final class LiveDocument: Sendable {
    let key: DocumentKey
    let version: Int
    /// The first version since the document was last created; see `DocumentStore.Document`.
    let firstVersion: Int
    /// When the version was published.
    let published: Date
    /// JSON text.
    let stored: StoredContent
    /// The result of the kind's `compile`.
    let compiled: any Sendable

    init(
        key: DocumentKey, version: Int, firstVersion: Int = 1, sha256: String, published: Date, content: [UInt8],
        compiled: any Sendable
    ) {
        self.key = key
        self.version = version
        self.firstVersion = firstVersion
        self.published = published
        stored = StoredContent(content, sha256: sha256)
        self.compiled = compiled
    }

    /// The digest of the content, in hexadecimal.
    var sha256: String { stored.sha256 }
    var content: ByteBuffer { stored.bytes }
    /// The memory used, without `compiled`.
    var sizeInBytes: Int { stored.sizeInBytes }
}

/// A snapshot of all live documents of a space.
final class LiveSpace: Sendable {
    let space: AppSpace
    /// Increases with every publication in the space.
    let generation: Int64
    private let live: [DocumentKey: LiveDocument]
    private let pinned: [PinnedVersion: LiveDocument]
    private let byKind: [DocumentKind: [LiveDocument]]
    let sizeInBytes: Int
    private let derivedValues = Mutex<[ObjectIdentifier: any Sendable]>([:])

    init(_ space: AppSpace, generation: Int64 = 0, live: [LiveDocument] = [], pinned: [LiveDocument] = []) {
        self.space = space
        self.generation = generation
        self.live = Dictionary(live.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        self.pinned = Dictionary(
            pinned.map { (PinnedVersion(key: $0.key, version: $0.version), $0) }, uniquingKeysWith: { $1 })
        sizeInBytes = (live + pinned).reduce(0) { $0 + $1.sizeInBytes }
        self.byKind = Dictionary(grouping: live.sorted { $0.key < $1.key }, by: \.key.kind)
    }

    subscript(key: DocumentKey) -> LiveDocument? { live[key] }

    /// Ordered by name.
    func documents(of kind: DocumentKind) -> [LiveDocument] { byKind[kind] ?? [] }

    /// A version that is live or pinned by a live document.
    func version(_ version: Int, of key: DocumentKey) -> LiveDocument? {
        if let document = live[key], document.version == version { return document }
        return pinned[PinnedVersion(key: key, version: version)]
    }

    /// A value derived from the space, computed once on first use.
    func derived<Value: Sendable>(_ make: (LiveSpace) -> Value) -> Value {
        let key = ObjectIdentifier(Value.self)
        if let known = derivedValues.withLock({ $0[key] }) as? Value { return known }
        let value = make(self)
        derivedValues.withLock { $0[key] = value }
        return value
    }

    var documents: [LiveDocument] { DocumentKind.allCases.flatMap { byKind[$0] ?? [] } }
}
