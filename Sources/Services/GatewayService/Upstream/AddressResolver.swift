import NIOCore
import NIOPosix

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The configured location of upstream instances: `host:port`, or `unix:/path` for a socket on the same machine.
enum UpstreamTarget: Sendable, Hashable {
    case network(HostAndPort)
    case socket(path: String)

    init(_ text: String) throws(GatewayConfigurationError) {
        guard text.hasPrefix("unix:") else {
            self = .network(try HostAndPort(text))
            return
        }
        let path = String(text.dropFirst(5))
        // `sockaddr_un` holds at most 107 bytes.
        guard path.hasPrefix("/"), (try? SocketAddress(unixDomainSocketPath: path)) != nil else {
            throw GatewayConfigurationError(
                "upstream.<service>: expected unix: and an absolute path of at most 107 bytes, found '\(text)'.")
        }
        self = .socket(path: path)
    }

    /// All addresses of the target, in a stable order.
    func resolve() async throws -> [SocketAddress] {
        switch self {
        case .network(let target): try await target.resolve()
        case .socket(let path): [try SocketAddress(unixDomainSocketPath: path)]
        }
    }

    /// Name for logs.
    var name: String {
        switch self {
        case .network(let target): target.host
        case .socket(let path): path
        }
    }
}

/// A configured `host:port`.
struct HostAndPort: Sendable, Hashable {
    let host: String
    let port: Int

    /// Reads `name:80`, `10.0.0.1:80` or `[::1]:80`.
    init(_ text: String) throws(GatewayConfigurationError) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65535).contains(port)
        else { throw GatewayConfigurationError("upstream.<service>: expected host:port, found '\(text)'.") }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else {
            throw GatewayConfigurationError("upstream.<service>: expected host:port, found '\(text)'.")
        }
        self.host = String(host)
        self.port = port
    }

    /// All addresses the name resolves to, in a stable order. Runs `getaddrinfo`, which blocks, on a separate thread.
    func resolve() async throws -> [SocketAddress] {
        if let literal = try? SocketAddress(ipAddress: host, port: port) { return [literal] }
        let addresses = try await NIOThreadPool.singleton.runIfActive { try lookUp() }
        return try addresses.map { try SocketAddress(ipAddress: $0, port: port) }
    }

    private struct LookupError: Error {
        var code: Int32
    }

    private func lookUp() throws -> [String] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { throw LookupError(code: code) }
        defer { freeaddrinfo(list) }
        var texts = Set<String>()
        var next = list
        while let info = next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let status = getnameinfo(
                info.pointee.ai_addr, info.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            if status == 0 {
                texts.insert(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
            }
            next = info.pointee.ai_next
        }
        return texts.sorted()
    }
}
