import Synchronization

/// A permit for one of a limited number of streams. It is returned once, when the stream ends or its response is
/// dropped before it began.
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
