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

/// Lets two gateways of the same user share a port (SO_REUSEPORT), so that a new one accepts connections before the old
/// one stops.
///
/// Linux distributes new connections over all listening sockets. When one closes, it resets the connections in its
/// backlog, including handshakes in progress. Therefore a filter of one instruction first redirects new connections to
/// another socket (`handOver`).
enum PortSharing {
    static let option = NIOBSDSocket.Option(rawValue: SO_REUSEPORT)
    /// Handshakes that began before a hand-over are complete after this time.
    static let handshakeTime = TimeAmount.seconds(1)

    /// - Parameter setting: The setting that the error names.
    /// - Throws: If another process listens on the address.
    static func requireFree(_ address: SocketAddress, setting: String) throws {
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
                "\(setting): another process listens on \(address.configured); set http.shared to let a second gateway take over from the first"
            )
        }
    }

    #if os(Linux)
    /// Linux constants (asm-generic/socket.h, linux/bpf_common.h).
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

    /// Removes the filter left by an earlier hand-over.
    static func removeFilter(_ server: any Channel) async {
        guard let options = server as? any SocketOptionProvider else { return }
        try? await options.unsafeSetSocketOption(level: .socket, name: detachFilter, value: Int32(0)).get()
    }

    /// Redirects new connections to another socket that listens on the port, if there is one.
    ///
    /// - Parameter accepts: Whether a connection to the port reaches this process.
    /// - Returns: Whether there is another socket. Connections may still arrive for `handshakeTime`.
    static func handOver(_ server: any Channel, accepts: () async -> Bool) async -> Bool {
        // The filter selects a socket by its index in the kernel's list. At most one of the first two is ours. For an
        // index without a socket, the kernel distributes connections over all of them.
        for place in UInt32(0)...1 {
            guard await redirect(server, to: place) else { return false }
            if await !accepts() { return true }
        }
        await removeFilter(server)
        return false
    }

    private static func redirect(_ server: any Channel, to place: UInt32) async -> Bool {
        guard let options = server as? any SocketOptionProvider else { return false }
        let instruction = UnsafeMutablePointer<Instruction>.allocate(capacity: 1)
        defer { instruction.deallocate() }
        instruction.initialize(to: Instruction(code: returnConstant, constant: place))
        let program = Program(length: 1, instructions: instruction)
        return (try? await options.unsafeSetSocketOption(level: .socket, name: attachFilter, value: program).get())
            != nil
    }
    #else
    static func removeFilter(_: any Channel) async {}
    static func handOver(_: any Channel, accepts: () async -> Bool) async -> Bool { false }
    #endif
}

/// Test connections that a gateway makes to its own port, to find out which process accepts them.
final class Probes: Sendable {
    private let accepted = Mutex<Set<SocketAddress>>([])
    private let isProbing = Atomic(false)

    private static let limit = TimeAmount.milliseconds(500)
    private static let pause = TimeAmount.milliseconds(5)

    func record(_ peer: SocketAddress?) {
        guard isProbing.load(ordering: .relaxed), let peer else { return }
        accepted.withLock { _ = $0.insert(peer) }
    }

    /// Whether a new connection to the port of `server` reaches this process.
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
    /// The address at which a process on the same machine reaches this listener.
    fileprivate var reachable: SocketAddress? {
        guard let port, let ipAddress else { return nil }
        switch ipAddress {
        case "0.0.0.0": return try? SocketAddress(ipAddress: "127.0.0.1", port: port)
        case "::": return try? SocketAddress(ipAddress: "::1", port: port)
        default: return self
        }
    }
}
