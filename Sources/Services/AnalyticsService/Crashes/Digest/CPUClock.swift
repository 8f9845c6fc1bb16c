import Foundation
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
        var time = timespec()
        clock_gettime(id, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
