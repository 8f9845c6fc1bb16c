import Synchronization

/// A limited number of slots, for requests that are refused rather than queued if all are taken.
final class RequestSlots: Sendable {
    private let free: Mutex<Int>

    init(_ count: Int) {
        free = Mutex(count)
    }

    /// A slot that is taken until `release` is called or the object is deallocated.
    final class Slot: Sendable {
        private let slots: RequestSlots
        private let isReleased = Atomic<Bool>(false)

        fileprivate init(_ slots: RequestSlots) {
            self.slots = slots
        }

        func release() {
            if isReleased.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged {
                slots.free.withLock { $0 += 1 }
            }
        }

        deinit { release() }
    }

    var available: Int { free.withLock { $0 } }

    /// Nil if all slots are taken.
    func take() -> Slot? {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Slot(self) : nil
    }
}
