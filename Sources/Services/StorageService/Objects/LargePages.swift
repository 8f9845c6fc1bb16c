import Synchronization

/// Remembers which lists were large when they were last read, so that they are not first read as small ones.
final class LargePages: Sendable {
    private static let maximumCount = 1_000

    struct Kind: Hashable {
        let space: AppSchema
        let collection: CollectionName
        /// Nil for a summary.
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
