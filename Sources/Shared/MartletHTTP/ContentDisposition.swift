/// The `Content-Disposition` of a file (RFC 6266).
public enum ContentDisposition {
    /// - Parameter name: Any text. Characters not allowed in a header are encoded (RFC 8187 §3.2.1).
    public static func header(isInline: Bool, name: String) -> String {
        "\(isInline ? "inline" : "attachment"); filename*=UTF-8''\(encoded(name))"
    }

    private static func encoded(_ name: String) -> String {
        var encoded = ""
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
