import Foundation
import Glibc

/// A single TCP connection that stays open; an HTTP client would silently open another one.
final class RawConnection {
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Trouble("no connection to port \(port)") }
    }

    deinit { close(descriptor) }

    /// Sends bytes without waiting.
    func write(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Trouble("the connection was dropped")
        }
    }

    /// Sends a head on this connection and reads the whole response, which must have a Content-Length.
    func status(of path: String, _ headers: [String: String], method: String = "GET") throws -> Int {
        let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        let request = Array("\(method) \(path) HTTP/1.1\r\nhost: localhost\r\n\(lines)\r\n".utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Trouble("the connection was dropped")
        }
        var received = ""
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { throw Trouble("the connection was dropped after: \(received)") }
            received += String(decoding: chunk[..<count], as: UTF8.self)
            let parts = received.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            let length = parts[0].split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            guard let length,
                let expected = Int(length.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces))
            else {
                throw Trouble("no length in: \(parts[0])")
            }
            if parts[1].utf8.count == expected { return Int(received.dropFirst(9).prefix(3)) ?? 0 }
        }
    }
}
