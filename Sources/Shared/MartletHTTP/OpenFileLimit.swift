#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The limit on open descriptors (RLIMIT_NOFILE): files, sockets and those of the runtime.
///
/// A process that runs out of descriptors crashes inside libdispatch. Every process therefore raises its limit at
/// startup and accepts fewer connections than it allows.
public enum OpenFileLimit {
    /// The minimum for every process: the usual soft limit on Linux.
    public static let minimum = 1_024
    /// Descriptors reserved for everything except client connections.
    static let reserve = 256

    /// The current soft limit.
    public static var current: Int {
        var limits = rlimit()
        guard getrlimit(Self.resource, &limits) == 0 else { return minimum }
        return Int(clamping: limits.rlim_cur)
    }

    /// The number of connections that a process with one descriptor per connection may accept.
    public static var connections: Int { max(1, current - reserve) }

    /// Raises the soft limit to the hard limit.
    ///
    /// - Throws: `OpenFileLimitError` if that is below `minimum`.
    static func raise() throws {
        var limits = rlimit()
        if getrlimit(Self.resource, &limits) == 0 {
            #if canImport(Darwin)
            limits.rlim_cur = min(limits.rlim_max, rlim_t(OPEN_MAX))
            #else
            limits.rlim_cur = limits.rlim_max
            #endif
            _ = setrlimit(Self.resource, &limits)
        }
        guard current >= minimum else { throw OpenFileLimitError(found: current) }
    }

    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
    #else
    private static let resource = RLIMIT_NOFILE
    #endif
}

/// The open file limit is too low to run the process.
struct OpenFileLimitError: Error, CustomStringConvertible {
    let found: Int

    var description: String {
        "the limit of open files must be at least \(OpenFileLimit.minimum), found \(found) (ulimit -n, LimitNOFILE= of systemd)"
    }
}
