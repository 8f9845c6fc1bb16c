import Dispatch
import Glibc
import MartletCore
import NIOCore

extension PublicAddress {
    static func contains(_ address: SocketAddress?) -> Bool {
        switch address {
        case .v4(let address): contains(withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
        case .v6(let address): contains(withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        default: false
        }
    }
}

/// Asks what a name stands for. `getaddrinfo` blocks, so it is done on threads of its own and its answer may come too late.
enum NameLookup {
    private static let queue = DispatchQueue(label: "martlet.hooks.names", attributes: .concurrent)

    /// The addresses as bytes; empty: there are none, or the task was cancelled first.
    static func addresses(of host: String) async -> [[UInt8]] {
        let (stream, continuation) = AsyncStream.makeStream(of: [[UInt8]].self)
        queue.async {
            continuation.yield(look(host))
            continuation.finish()
        }
        for await found in stream { return found }
        return []
    }

    private static func look(_ host: String) -> [[UInt8]] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var found: [[UInt8]] = []
        var next = list
        while let entry = next?.pointee {
            switch (entry.ai_family, entry.ai_addr) {
            case (AF_INET, let address?):
                address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                    found.append(withUnsafeBytes(of: address.pointee.sin_addr) { Array($0) })
                }
            case (AF_INET6, let address?):
                address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                    found.append(withUnsafeBytes(of: address.pointee.sin6_addr) { Array($0) })
                }
            default: break
            }
            next = entry.ai_next
        }
        return found
    }
}
