import Dispatch
import Glibc
public import MartletCore
public import NIOCore

extension PublicAddress {
    public static func contains(_ address: SocketAddress?) -> Bool {
        switch address {
        case .v4(let address): contains(withUnsafeBytes(of: address.address) { Array($0[Self.place4]) })
        case .v6(let address): contains(withUnsafeBytes(of: address.address) { Array($0[Self.place6]) })
        default: false
        }
    }

    /// Offsets of the address in `sockaddr_in` and `sockaddr_in6` (ip(7), ipv6(7)): after family and port, and after
    /// the flow label.
    fileprivate static let place4 = 4..<8
    fileprivate static let place6 = 8..<24
}

/// Resolves names. `getaddrinfo` blocks, so it runs on separate threads, and its result may come too late.
public enum NameLookup {
    private static let queue = DispatchQueue(label: "martlet.names", attributes: .concurrent)

    /// The addresses as bytes. Empty if there are none or the task was cancelled first.
    public static func addresses(of host: String) async -> [[UInt8]] {
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
                found.append(
                    Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen))[PublicAddress.place4]))
            case (AF_INET6, let address?):
                found.append(
                    Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen))[PublicAddress.place6]))
            default: break
            }
            next = entry.ai_next
        }
        return found
    }
}
