import MartletCore

/// The live translations of a space, ordered by app version.
private struct TranslationIndex: Sendable {
    let entries: [(sortKey: String, document: LiveDocument)]

    init(_ space: LiveSpace) {
        entries = space.documents(of: .translation).compactMap { document in
            VersionNumber(document.key.name).map { (sortKey: $0.sortKey, document: document) }
        }.sorted { $0.sortKey.utf8.lexicographicallyPrecedes($1.sortKey.utf8) }
    }
}

extension LiveSpace {
    /// The translations of an app version: its own, otherwise those of the newest earlier version.
    func translations(for appVersion: String) -> LiveDocument? {
        if let own = self[DocumentKey(.translation, appVersion)] { return own }
        guard let version = VersionNumber(appVersion) else { return nil }
        return derived(TranslationIndex.init).entries.last {
            !version.sortKey.utf8.lexicographicallyPrecedes($0.sortKey.utf8)
        }?.document
    }
}
