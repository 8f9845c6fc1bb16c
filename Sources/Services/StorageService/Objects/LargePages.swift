import Synchronization

/// Remembers which reads had a large answer when they were last made, so that the next one does not try first whether
/// the answer is small. For lists that need memory to be reserved, and for reads that the event loop cannot answer.
final class LargePages: Sendable {
    private static let maximumCount = 1_000

    struct Kind: Hashable {
        let space: AppSchema
        let collection: CollectionName
        /// The requested page size; nil for a summary, or for objects by id.
        let limit: Int?

        init(_ scope: QueryScope, limit: Int?) {
            (space, collection) = (scope.space, scope.collection)
            self.limit = limit
        }
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
