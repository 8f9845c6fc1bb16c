import Synchronization

/// A place among a limited number that is given back once: when a stream ends, or when its response is dropped before it began.
public final class StreamPermit: Sendable {
    private let onLeave: Mutex<(@Sendable () -> Void)?>

    public init(_ onLeave: @escaping @Sendable () -> Void) {
        self.onLeave = Mutex(onLeave)
    }

    public func leave() {
        let body = onLeave.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
    }

    deinit { leave() }
}
