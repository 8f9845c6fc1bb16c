import HTTPTypes
public import Hummingbird
import MartletAPI

extension Request {
    /// The client's address in readable form: an IPv4 address, or the /64 of an IPv6 address. Used for limits and the
    /// audit log.
    public var staffAddress: String {
        // The gateway writes the two halves of an IPv6 address as hexadecimal numbers, with IPv4 addresses mapped.
        let header = headers[HTTPField.Name(HeaderName.address)!] ?? ""
        let halves = header.split(separator: ":").map { UInt64($0, radix: 16) }
        guard halves.count == 2, let high = halves[0], let low = halves[1] else { return header }
        if high == 0, low >> 32 == 0xffff {
            return (0..<4).map { String(low >> UInt64(24 - 8 * $0) & 0xff) }.joined(separator: ".")
        }
        return (0..<4).map { String(high >> UInt64(48 - 16 * $0) & 0xffff, radix: 16) }.joined(separator: ":") + "::/64"
    }
}
