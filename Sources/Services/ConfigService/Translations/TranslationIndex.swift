import MartletCore

/// The translations that are live in a space, in the order of their app versions.
private struct TranslationIndex: Sendable {
    let entries: [(sortKey: String, document: LiveDocument)]

    init(_ space: LiveSpace) {
        entries = space.documents(of: .translation).compactMap { document in
            VersionNumber(document.key.name).map { (sortKey: $0.sortKey, document: document) }
        }.sorted { $0.sortKey.utf8.lexicographicallyPrecedes($1.sortKey.utf8) }
    }
}

extension LiveSpace {
    /// Those of an app version: its own, else those of the newest version that is not above it.
    func translations(for appVersion: String) -> LiveDocument? {
        if let own = self[DocumentKey(.translation, appVersion)] { return own }
        guard let version = VersionNumber(appVersion) else { return nil }
        return derived(TranslationIndex.init).entries.last {
            !version.sortKey.utf8.lexicographicallyPrecedes($0.sortKey.utf8)
        }?.document
    }
}
