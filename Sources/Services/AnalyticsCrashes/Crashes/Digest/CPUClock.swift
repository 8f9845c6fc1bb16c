import Glibc

/// The CPU time used by a thread. Any thread may read it while that thread is alive.
struct CPUClock: Sendable {
    private let id: clockid_t

    static var ofThisThread: CPUClock {
        var id = clockid_t()
        pthread_getcpuclockid(pthread_self(), &id)
        return CPUClock(id: id)
    }

    var time: Duration {
        // A tuple with the layout of `timespec`, because the names of its members belong to whichever C module was
        // imported first.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutablePointer(to: &time) { time in
            _ = time.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(id, $0) }
        }
        return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
    }
}
