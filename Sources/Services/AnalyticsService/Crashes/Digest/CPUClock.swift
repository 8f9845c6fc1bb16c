import Glibc

/// How much CPU time a thread has used; any thread may look, as long as that one lives.
struct CPUClock: Sendable {
    private let id: clockid_t

    static var ofThisThread: CPUClock {
        var id = clockid_t()
        pthread_getcpuclockid(pthread_self(), &id)
        return CPUClock(id: id)
    }

    var time: Duration {
        // The two members of a `timespec`, whose names belong to whichever C module was imported first.
        var time = (seconds: 0, nanoseconds: 0)
        withUnsafeMutablePointer(to: &time) { time in
            _ = time.withMemoryRebound(to: timespec.self, capacity: 1) { clock_gettime(id, $0) }
        }
        return .seconds(time.seconds) + .nanoseconds(time.nanoseconds)
    }
}
