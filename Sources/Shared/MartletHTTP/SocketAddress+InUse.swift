import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension SocketAddress {
    /// Whether a process accepts connections on this Unix domain socket. False for a file that a stopped process left
    /// behind.
    var isListenedTo: Bool {
        #if canImport(Glibc)
        let handle = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        #else
        let handle = socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
        guard handle >= 0 else { return false }
        defer { close(handle) }
        // EAGAIN means that a process listens but its backlog is full.
        return withSockAddr { address, size in connect(handle, address, socklen_t(size)) == 0 || errno == EAGAIN }
    }
}
