import Foundation

/// Ports of the loopback address that nobody listens on.
enum FreePort {
    /// `count` different ports. They are free when this returns, and somebody may take one before it is used.
    static func find(_ count: Int) throws -> [Int] {
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        return try (0..<count).map { _ in
            let handle = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard handle >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            sockets.append(handle)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(handle, $0, length) == 0 ? getsockname(handle, $0, &length) : -1
                }
            }
            guard status == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            return Int(UInt16(bigEndian: address.sin_port))
        }
    }
}
