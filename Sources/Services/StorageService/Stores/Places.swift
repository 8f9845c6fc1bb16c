import Synchronization

/// So many places at the same time, for those that are turned away rather than kept waiting when all are taken.
final class Places: Sendable {
    private let free: Mutex<Int>

    init(_ count: Int) {
        free = Mutex(count)
    }

    /// Taken until `leave`, or until it is dropped.
    final class Place: Sendable {
        private let places: Places
        private let isLeft = Atomic<Bool>(false)

        fileprivate init(_ places: Places) {
            self.places = places
        }

        func leave() {
            if isLeft.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged {
                places.free.withLock { $0 += 1 }
            }
        }

        deinit { leave() }
    }

    /// Nil when all are taken.
    func take() -> Place? {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Place(self) : nil
    }
}
