import MartletAPI
import NIOCore
import NIOHPACK

/// Converts a request's HTTP/2 headers to an HTTP/1.1 head (RFC 9113 §8.3).
enum HTTP2RequestHead {
    /// - Throws: For values that would change the meaning of the lines, and for fields that HTTP/2 forbids.
    static func text(_ headers: HPACKHeaders, endsStream: Bool) throws(Refusal) -> ByteBuffer {
        var pseudo = Pseudo()
        var lines = ByteBuffer()
        var cookies: [String] = []
        var hasLength = false
        for (name, value, _) in headers {
            try check(name, value)
            if name.utf8.first == UInt8(ascii: ":") {
                try pseudo.take(name, value)
            } else {
                switch name {
                case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
                    throw .malformed("HTTP/2 does not allow connection headers.")
                case "host":
                    // Replaces a missing :authority; if both are present, they must agree.
                    guard pseudo.authority == nil || pseudo.authority == value else {
                        throw .malformed("The Host header and :authority must be equal.")
                    }
                    pseudo.authority = value
                case "cookie":
                    // HTTP/2 may split cookies for better compression; HTTP/1.1 has one line.
                    cookies.append(value)
                default:
                    hasLength = hasLength || name == "content-length"
                    lines.writeString("\(name): \(value)\r\n")
                }
            }
        }
        var text = try pseudo.requestLine()
        text.writeBuffer(&lines)
        if !cookies.isEmpty { text.writeString("cookie: \(cookies.joined(separator: "; "))\r\n") }
        if !endsStream, !hasLength { text.writeString("transfer-encoding: chunked\r\n") }
        text.writeString("\r\n")
        return text
    }

    private static func check(_ name: String, _ value: String) throws(Refusal) {
        func breaksLine(_ byte: UInt8) -> Bool { byte == 0x0a || byte == 0x0d || byte == 0 }
        let nameIsClean = name.utf8.allSatisfy { (byte: UInt8) in !(0x41...0x5a).contains(byte) && !breaksLine(byte) }
        guard nameIsClean, !value.utf8.contains(where: breaksLine) else { throw .malformed("A header is not valid.") }
    }

    private struct Pseudo {
        var method: String?
        var path: String?
        var authority: String?
        var scheme: String?

        mutating func take(_ name: String, _ value: String) throws(Refusal) {
            switch name {
            case ":method" where method == nil: method = value
            case ":path" where path == nil: path = value
            case ":authority" where authority == nil: authority = value
            case ":scheme" where scheme == nil: scheme = value
            default: throw .malformed("A pseudo-header is repeated or unknown.")
            }
        }

        private static func isOneWord(_ text: String) -> Bool {
            !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 }
        }

        func requestLine() throws(Refusal) -> ByteBuffer {
            guard let method, let path, let authority, let scheme, ["http", "https"].contains(scheme) else {
                throw .malformed("A pseudo-header is missing or not valid.")
            }
            guard Self.isOneWord(method), Self.isOneWord(path) else {
                throw .malformed("A pseudo-header is not valid.")
            }
            return ByteBuffer(string: "\(method) \(path) HTTP/1.1\r\nhost: \(authority)\r\n")
        }
    }
}
