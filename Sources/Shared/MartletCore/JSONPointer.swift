/// JSON Pointers (RFC 6901).
public enum JSONPointer {
    /// Escapes a member name as a reference token (§3). By bytes, because the names in a document may be as long as the
    /// document.
    public static func escape(_ name: String) -> String {
        guard name.holds("~") || name.holds("/") else { return name }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "~"): bytes += [byte, UInt8(ascii: "0")]
            case UInt8(ascii: "/"): bytes += [UInt8(ascii: "~"), UInt8(ascii: "1")]
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
