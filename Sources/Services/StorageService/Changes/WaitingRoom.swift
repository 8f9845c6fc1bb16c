import Synchronization

/// Places for so many who wait at the same time.
final class WaitingRoom: Sendable {
    private let free: Mutex<Int>

    init(places: Int) {
        free = Mutex(places)
    }

    /// Taken as long as it is held.
    final class Place: Sendable {
        private let room: WaitingRoom

        fileprivate init(_ room: WaitingRoom) {
            self.room = room
        }

        deinit {
            room.free.withLock { $0 += 1 }
        }
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
