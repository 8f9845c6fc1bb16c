/// A set of ASCII bytes in two words. Bytes from 0x80 on are never members.
struct ByteSet {
    private let low: UInt64
    private let high: UInt64

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte < 64 ? low : high
        return byte < 128 && (word >> UInt64(byte & 63)) & 1 == 1
    }

    func containsAll(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.allSatisfy(contains)
    }

    /// `tchar` (RFC 9110 §5.6.2), the characters of methods and field names.
    static let token = ByteSet(low: 0x3ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
    /// `pchar` and `/` without the percent sign (RFC 3986 §3.3).
    static let path = ByteSet(low: 0x2fff_ffd2_0000_0000, high: 0x47ff_fffe_87ff_ffff)
    /// Visible ASCII without `#` and `%`. Wider than RFC 3986 §3.4 because browsers send brackets and braces unescaped.
    static let query = ByteSet(low: 0xffff_ffd6_0000_0000, high: 0x7fff_ffff_ffff_ffff)
    /// Characters allowed in `Host`: a name or an address, and a port.
    static let host = ByteSet(low: 0x7ff_6000_0000_0000, high: 0x47ff_fffe_afff_fffe)
    /// The base64url alphabet without padding (RFC 4648 §5).
    static let base64URL = ByteSet(low: 0x3ff_2000_0000_0000, high: 0x07ff_fffe_87ff_fffe)
    /// Characters allowed in a client's request id.
    static let requestID = ByteSet(low: 0x3ff_6000_0000_0000, high: 0x07ff_fffe_87ff_fffe)
}
