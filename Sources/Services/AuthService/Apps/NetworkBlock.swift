import Foundation

/// A block of addresses in CIDR notation (RFC 4632 §3.1): `10.0.0.0/8`, `fc00::/7`.
public enum NetworkBlock {
    public static func isValid(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...3).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let bits = Int(parts[1])
        else { return false }
        var address = in6_addr()
        if inet_pton(AF_INET, String(parts[0]), &address) == 1 { return bits <= 32 }
        return inet_pton(AF_INET6, String(parts[0]), &address) == 1 && bits <= 128
    }
}
