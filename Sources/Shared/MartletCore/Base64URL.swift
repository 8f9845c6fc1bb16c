public import Foundation

/// Base64 with the URL-safe alphabet and without padding (RFC 4648 §5).
public enum Base64URL {
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let base64 = Data(bytes).base64EncodedData()
        return String(decoding: base64.lazy.filter { $0 != UInt8(ascii: "=") }.map(urlSafe), as: UTF8.self)
    }

    /// Nil if `text` is not base64url.
    public static func decode(_ text: some StringProtocol) -> Data? {
        guard text.utf8.allSatisfy({ !"+/=".utf8.contains($0) }) else { return nil }
        var base64 = Data(text.utf8.map(standard))
        while base64.count % 4 != 0 { base64.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: base64)
    }

    private static func urlSafe(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: byte
        }
    }

    private static func standard(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: byte
        }
    }
}
