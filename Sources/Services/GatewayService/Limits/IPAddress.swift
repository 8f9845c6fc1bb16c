import NIOCore

/// An IP address as 128 bits; IPv4 in its mapped form `::ffff:a.b.c.d`.
struct IPAddress: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    init?(_ address: SocketAddress) {
        // On every platform, the address begins at byte 4 of `sockaddr_in` and at byte 8 of `sockaddr_in6`.
        let range: Range<Int>
        switch address {
        case .v4: range = 4..<8
        case .v6: range = 8..<24
        case .unixDomainSocket: return nil
        }
        let bytes = address.withSockAddr { pointer, size in
            Array(UnsafeRawBufferPointer(start: pointer, count: size)[range])
        }
        if bytes.count == 4 {
            self.init(high: 0, low: bytes.reduce(0xffff) { $0 << 8 | UInt64($1) })
        } else {
            self.init(bytes)
        }
    }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init?(_ text: some StringProtocol) {
        guard let address = try? SocketAddress(ipAddress: String(text), port: 0) else { return nil }
        self.init(address)
    }

    private init(_ bytes: [UInt8]) {
        high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Hexadecimal form for use in a header: `high:low`.
    var text: String { String(high, radix: 16) + ":" + String(low, radix: 16) }

    var isLoopback: Bool { isV4 ? UInt32(truncatingIfNeeded: low) >> 24 == 127 : high == 0 && low == 1 }

    var isV4: Bool { high == 0 && low >> 32 == 0xffff }
}

/// A CIDR block.
struct Network: Sendable {
    private let base: IPAddress
    private let highMask: UInt64
    private let lowMask: UInt64

    /// Reads `10.0.0.0/8` or `fc00::/7`; a bare address is a block of one.
    init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let base = IPAddress(parts[0]) else { return nil }
        let width = parts[0].contains(":") ? 128 : 32
        guard let length = parts.count == 2 ? Int(parts[1]) : width, (0...width).contains(length) else { return nil }
        let bits = length + 128 - width
        self.base = base
        highMask = bits >= 64 ? .max : ~(UInt64.max >> UInt64(bits))
        lowMask = bits <= 64 ? 0 : ~(UInt64.max >> UInt64(bits - 64))
    }

    func contains(_ address: IPAddress) -> Bool {
        (address.high ^ base.high) & highMask == 0 && (address.low ^ base.low) & lowMask == 0
    }

    static func parse(_ texts: [String], _ key: String) throws(GatewayConfigurationError) -> [Network] {
        var networks: [Network] = []
        for text in texts {
            guard let network = Network(text) else {
                throw GatewayConfigurationError("\(key): expected a network such as 10.0.0.0/8, found '\(text)'.")
            }
            networks.append(network)
        }
        return networks
    }
}
