import Glibc

/// The CPU time that a thread has used. Any thread may read it while that thread lives.
struct CPUClock: Sendable {
    private let id: clockid_t

    static var ofThisThread: CPUClock {
        var id = clockid_t()
        pthread_getcpuclockid(pthread_self(), &id)
        return CPUClock(id: id)
    }

    var time: Duration {
        // Laid out as a `timespec`, the names of whose members belong to whichever C module was imported first.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutablePointer(to: &time) { time in
            _ = time.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(id, $0) }
        }
        return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
    }
}
