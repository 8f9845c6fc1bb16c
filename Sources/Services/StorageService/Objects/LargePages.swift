import Synchronization

/// Remembers which lists had a large page when they were last read, so that the next read reserves memory for a large
/// page at once instead of trying a small one first.
final class LargePages: Sendable {
    private static let maximumCount = 1_000

    struct Kind: Hashable {
        let space: AppSchema
        let collection: CollectionName
        /// The requested page size; nil for a summary.
        let limit: Int?
    }

    private let kinds = Mutex<Set<Kind>>([])

    func contains(_ kind: Kind) -> Bool { kinds.withLock { $0.contains(kind) } }

    func record(_ kind: Kind, isLarge: Bool) {
        kinds.withLock { kinds in
            guard isLarge else {
                kinds.remove(kind)
                return
            }
            if kinds.count >= Self.maximumCount { kinds.removeAll() }
            kinds.insert(kind)
        }
    }
}
