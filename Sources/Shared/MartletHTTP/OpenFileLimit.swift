#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// How many descriptors the process may have open (RLIMIT_NOFILE): files, sockets, and what the runtime takes.
///
/// A process that runs out of them dies inside libdispatch, so each raises its limit at the start and accepts fewer connections than it allows.
public enum OpenFileLimit {
    /// What every process needs at least: the usual soft limit of Linux.
    public static let minimum = 1_024
    /// What a process keeps for all that is not a client's connection.
    static let reserve = 256

    /// The limit in force.
    public static var current: Int {
        var limits = rlimit()
        guard getrlimit(Self.resource, &limits) == 0 else { return minimum }
        return Int(clamping: limits.rlim_cur)
    }

    /// Connections that a process which needs one descriptor for each may accept.
    public static var connections: Int { max(1, current - reserve) }

    /// Raises the soft limit to the hard one.
    ///
    /// - Throws: `OpenFileLimitError` when that is below `minimum`.
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

/// The process may open too few files to run.
struct OpenFileLimitError: Error, CustomStringConvertible {
    let found: Int

    var description: String {
        "the limit of open files must be at least \(OpenFileLimit.minimum), found \(found) (ulimit -n, LimitNOFILE= of systemd)"
    }
}
