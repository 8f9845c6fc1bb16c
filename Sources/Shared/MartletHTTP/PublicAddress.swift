import Dispatch
import Glibc
public import NIOCore

/// Which addresses of the network others may have us call: those of the public internet and no others, so that nobody reaches through this
/// server what only this server can reach.
public enum PublicAddress {
    /// - Parameter bytes: 4 of IPv4, 16 of IPv6. What is kept from: every block that IANA's registries of special-purpose addresses do not
    ///   call globally reachable, multicast, and the ways to write IPv4 inside IPv6.
    public static func contains(_ bytes: [UInt8]) -> Bool {
        switch bytes.count {
        case 4: isPublic4(bytes)
        case 16: isPublic6(bytes)
        default: false
        }
    }

    public static func contains(_ address: SocketAddress?) -> Bool {
        switch address {
        case .v4(let address): contains(withUnsafeBytes(of: address.address) { Array($0[Self.place4]) })
        case .v6(let address): contains(withUnsafeBytes(of: address.address) { Array($0[Self.place6]) })
        default: false
        }
    }

    /// Where `sockaddr_in` and `sockaddr_in6` have the address (ip(7), ipv6(7)): behind family and port, and behind the flow's label.
    fileprivate static let place4 = 4..<8
    fileprivate static let place6 = 8..<24

    private static func isPublic4(_ bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1], bytes[2]) {
        case (0, _, _), (10, _, _), (127, _, _), (169, 254, _), (192, 168, _), (224..., _, _): false
        case (100, 64...127, _), (172, 16...31, _), (198, 18...19, _): false
        case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 51, 100), (203, 0, 113): false
        default: true
        }
    }

    private static func isPublic6(_ bytes: [UInt8]) -> Bool {
        if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff { return isPublic4(Array(bytes[12...])) }
        return switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (0x20, 0x01, 0...1, _), (0x20, 0x01, 0x0d, 0xb8), (0x20, 0x02, _, _), (0x3f, 0xff, 0...0x0f, _): false
        default: bytes[0] & 0xe0 == 0x20
        }
    }
}

/// Asks what a name stands for. `getaddrinfo` blocks, so it is done on threads of its own and its answer may come too late.
public enum NameLookup {
    private static let queue = DispatchQueue(label: "martlet.names", attributes: .concurrent)

    /// The addresses as bytes; empty: there are none, or the task was cancelled first.
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
                found.append(Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen))[PublicAddress.place4]))
            case (AF_INET6, let address?):
                found.append(Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen))[PublicAddress.place6]))
            default: break
            }
            next = entry.ai_next
        }
        return found
    }
}
