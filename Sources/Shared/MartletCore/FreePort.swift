import Foundation

/// TCP ports of the loopback address that are not in use.
///
/// They are chosen at random below the system's range for outgoing connections. Seconds may pass between finding a port
/// and using it. In that time an outgoing connection could take a port from that range and block it for a minute after
/// closing.
public enum FreePort {
    /// Lower ports are customarily used by other programs.
    private static let lowest = 10_240
    private static let maximumAttempts = 1_000

    /// `count` different ports that are free when this returns and not in `others`.
    public static func find(_ count: Int, excluding others: Set<Int> = []) throws -> [Int] {
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        let range = range()
        var ports: [Int] = []
        for _ in 0..<maximumAttempts where ports.count < count {
            let port = Int.random(in: range)
            guard !others.contains(port), let handle = try open(port) else { continue }
            sockets.append(handle)
            ports.append(port)
        }
        guard ports.count == count else { throw POSIXError(.EADDRINUSE) }
        return ports
    }

    public static func find() throws -> Int { try find(1)[0] }

    private static func range() -> Range<Int> {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
        let outgoing = text?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } ?? 32_768
        // If the range starts that low, there is too little room below it, so use it anyway.
        return lowest..<(outgoing < lowest + 2 * maximumAttempts ? 65_536 : outgoing)
    }

    /// A socket bound to the port; nil if the port is in use.
    private static func open(_ port: Int) throws -> Int32? {
        let handle = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard handle >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = in_port_t(port).bigEndian
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(handle, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if status == 0 { return handle }
        close(handle)
        return nil
    }
}
