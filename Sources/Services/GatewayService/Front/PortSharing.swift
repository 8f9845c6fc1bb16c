import NIOCore
import NIOPosix
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// One port for two gateways of the same user (SO_REUSEPORT), so that a new one takes connections before the old one stops.
///
/// Linux spreads new connections over all sockets that listen, and resets what waits in the backlog of one that closes, also
/// handshakes under way. So before a socket closes, a filter of one instruction sends new connections to another one (`handOver`).
enum PortSharing {
    static let option = NIOBSDSocket.Option(rawValue: SO_REUSEPORT)
    /// After this time, handshakes that began before a hand-over have ended.
    static let handshakeTime = TimeAmount.seconds(1)

    /// - Throws: when another process listens at the address.
    static func requireFree(_ address: SocketAddress) throws {
        #if canImport(Glibc)
        let type = Int32(SOCK_STREAM.rawValue)
        #else
        let type = SOCK_STREAM
        #endif
        let descriptor = socket(address.protocol == .inet6 ? AF_INET6 : AF_INET, type, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let status = address.withSockAddr { bind(descriptor, $0, socklen_t($1)) }
        guard status == 0 || errno != EADDRINUSE else {
            throw GatewayConfigurationError(
                "http.port: another process listens at \(address.configured); http.shared lets a second gateway listen there, to take over from the first")
        }
    }

    #if os(Linux)
    /// The constants are Linux's (asm-generic/socket.h, linux/bpf_common.h).
    private static let attachFilter = NIOBSDSocket.Option(rawValue: 51)
    private static let detachFilter = NIOBSDSocket.Option(rawValue: 68)
    private static let returnConstant: UInt16 = 0x06

    /// `struct sock_filter`
    private struct Instruction {
        var code: UInt16
        var jumpIfTrue: UInt8 = 0
        var jumpIfFalse: UInt8 = 0
        var constant: UInt32
    }

    /// `struct sock_fprog`
    private struct Program: @unchecked Sendable {
        var length: UInt16
        var instructions: UnsafeMutablePointer<Instruction>
    }

    /// Removes the filter that an earlier hand-over left.
    static func spread(_ server: any Channel) async {
        guard let options = server as? any SocketOptionProvider else { return }
        try? await options.unsafeSetSocketOption(level: .socket, name: detachFilter, value: Int32(0)).get()
    }

    /// Sends new connections to another socket that listens at the port, if there is one.
    ///
    /// - Parameter accepts: whether a connection to the port arrives at this process.
    /// - Returns: whether there is another one. Connections may come for `handshakeTime` more.
    static func handOver(_ server: any Channel, accepts: () async -> Bool) async -> Bool {
        // The filter names a socket by its place in the kernel's list. Of the first two at most one is ours; for a
        // place that no socket has, the kernel spreads connections over all of them.
        for place in UInt32(0)...1 {
            guard await steer(server, to: place) else { return false }
            if await !accepts() { return true }
        }
        await spread(server)
        return false
    }

    private static func steer(_ server: any Channel, to place: UInt32) async -> Bool {
        guard let options = server as? any SocketOptionProvider else { return false }
        let instruction = UnsafeMutablePointer<Instruction>.allocate(capacity: 1)
        defer { instruction.deallocate() }
        instruction.initialize(to: Instruction(code: returnConstant, constant: place))
        let program = Program(length: 1, instructions: instruction)
        return (try? await options.unsafeSetSocketOption(level: .socket, name: attachFilter, value: program).get()) != nil
    }
    #else
    static func spread(_: any Channel) async {}
    static func handOver(_: any Channel, accepts: () async -> Bool) async -> Bool { false }
    #endif
}

/// Connections that a gateway makes to its own port, to see who accepts them.
final class Probes: Sendable {
    private let accepted = Mutex<Set<SocketAddress>>([])
    private let isProbing = Atomic(false)

    private static let limit = TimeAmount.milliseconds(500)
    private static let pause = TimeAmount.milliseconds(5)

    func note(_ peer: SocketAddress?) {
        guard isProbing.load(ordering: .relaxed), let peer else { return }
        accepted.withLock { _ = $0.insert(peer) }
    }

    /// Whether a new connection to the port of `server` comes to this process.
    func arrives(at server: any Channel, on group: any EventLoopGroup) async -> Bool {
        isProbing.store(true, ordering: .relaxed)
        defer {
            isProbing.store(false, ordering: .relaxed)
            accepted.withLock { $0 = [] }
        }
        guard let address = server.localAddress?.reachable,
            let probe = try? await ClientBootstrap(group: group).connectTimeout(Self.limit).connect(to: address).get()
        else { return true }
        defer { probe.close(promise: nil) }
        guard let own = probe.localAddress else { return true }
        let deadline = NIODeadline.now() + Self.limit
        while NIODeadline.now() < deadline {
            if accepted.withLock({ $0.contains(own) }) { return true }
            try? await server.eventLoop.scheduleTask(in: Self.pause) {}.futureResult.get()
        }
        return false
    }
}

extension SocketAddress {
    /// Where a process of the same machine reaches what listens here.
    fileprivate var reachable: SocketAddress? {
        guard let port, let ipAddress else { return nil }
        switch ipAddress {
        case "0.0.0.0": return try? SocketAddress(ipAddress: "127.0.0.1", port: port)
        case "::": return try? SocketAddress(ipAddress: "::1", port: port)
        default: return self
        }
    }
}
