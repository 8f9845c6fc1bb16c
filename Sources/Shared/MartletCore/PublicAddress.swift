/// Determines which addresses an app may have us call: only those on the public internet, so that no app can reach
/// internal systems through this server (SSRF).
public enum PublicAddress {
    /// - Parameter bytes: 4 bytes for IPv4, 16 for IPv6. Excluded are all blocks in IANA's special-purpose registries
    ///   that are not globally reachable, multicast, and IPv6 forms that embed IPv4.
    public static func contains(_ bytes: [UInt8]) -> Bool {
        switch bytes.count {
        case 4: isPublic4(bytes)
        case 16: isPublic6(bytes)
        default: false
        }
    }

    private static func isPublic4(_ bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1], bytes[2]) {
        case (0, _, _), (10, _, _), (127, _, _), (169, 254, _), (192, 168, _), (224..., _, _): false
        case (100, 64...127, _), (172, 16...31, _), (198, 18...19, _): false
        case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 51, 100), (203, 0, 113): false
        default: true
        }
    }

    private static func isPublic6(_ bytes: [UInt8]) -> Bool {
        if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff {
            return isPublic4(Array(bytes[12...]))
        }
        return switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (0x20, 0x01, 0...1, _), (0x20, 0x01, 0x0d, 0xb8), (0x20, 0x02, _, _), (0x3f, 0xff, 0...0x0f, _): false
        default: bytes[0] & 0xe0 == 0x20
        }
    }
}
