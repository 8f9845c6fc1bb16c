import Synchronization

/// A limited number of places, for requests that are refused rather than queued if all are taken.
final class Places: Sendable {
    private let free: Mutex<Int>

    init(_ count: Int) {
        free = Mutex(count)
    }

    /// A place that is taken until `leave` is called or the object is released.
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

    /// Nil if all places are taken.
    func take() -> Place? {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Place(self) : nil
    }
}
