import CLibPQ
import Glibc

/// `epoll` for the connections' sockets, keyed by a number that is never reused.
///
/// Confined to the engine's thread, except `Waker`, which wakes it from any thread.
final class Poller {
    struct Event {
        let key: Int
        let isReadable: Bool
        let isWritable: Bool
    }

    private let epoll: Int32
    private var lastKey = 0
    private var events = [epoll_event](repeating: epoll_event(), count: 64)

    init?(waker: Waker) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { return nil }
        // Edge-triggered, so that the counter never has to be read.
        control(EPOLL_CTL_ADD, waker.descriptor, EPOLLIN.rawValue | EPOLLET.rawValue, key: Waker.key)
    }

    deinit { close(epoll) }

    /// Returns the key of the descriptor's events.
    func add(_ descriptor: Int32) -> Int {
        lastKey += 1
        control(EPOLL_CTL_ADD, descriptor, EPOLLIN.rawValue, key: UInt64(lastKey))
        return lastKey
    }

    func watch(_ descriptor: Int32, key: Int, writable: Bool) {
        control(EPOLL_CTL_MOD, descriptor, EPOLLIN.rawValue | (writable ? EPOLLOUT.rawValue : 0), key: UInt64(key))
    }

    func remove(_ descriptor: Int32) {
        control(EPOLL_CTL_DEL, descriptor, 0, key: 0)
    }

    /// Waits up to `timeout`, or indefinitely if `nil`, and returns the number of events.
    func wait(timeout: Nanoseconds?) -> Int {
        let milliseconds = timeout.map { Int32(clamping: ($0 + 999_999) / 1_000_000) } ?? -1
        return max(
            0,
            events.withUnsafeMutableBufferPointer {
                Int(epoll_wait(epoll, $0.baseAddress, Int32($0.count), milliseconds))
            })
    }

    /// `nil` if the event is a wake-up.
    func event(_ index: Int) -> Event? {
        let event = events[index]
        guard event.data.u64 != Waker.key else { return nil }
        // Errors and hang-ups are detected when reading.
        let isReadable = event.events & (EPOLLIN.rawValue | EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
        return Event(
            key: Int(event.data.u64), isReadable: isReadable, isWritable: event.events & EPOLLOUT.rawValue != 0)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ flags: UInt32, key: UInt64) {
        var event = epoll_event(events: flags, data: epoll_data_t(u64: key))
        epoll_ctl(epoll, operation, descriptor, &event)
    }
}

/// An `eventfd` that wakes a `Poller`.
final class Waker: Sendable {
    static let key = UInt64.max

    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(descriptor >= 0, "no file descriptor left for an eventfd")
    }

    deinit { close(descriptor) }

    func wake() {
        eventfd_write(descriptor, 1)
    }
}
