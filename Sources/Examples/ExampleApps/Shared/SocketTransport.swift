import Foundation
import MartletKit

/// HTTP/1.1 over sockets, for many phones in one process beside the server that they measure.
///
/// On Linux, `URLSession` takes six times as much of a processor for a request, and keeps it busy while it waits for
/// the answer on a new connection. The phones would slow down the server that they measure. This transport sends plain
/// HTTP only, and asks for no compression.
final class SocketTransport: HTTPTransport {
    /// Each exchange blocks a thread of this queue.
    private let queue = DispatchQueue(label: "SocketTransport", attributes: .concurrent)
    private let idle = IdleSockets()

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        let socket = try await idle.take() ?? HTTPSocket(request.url)
        let response: HTTPResponse = try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try socket.exchange(request) }) }
        }
        await idle.put(socket)
        return response
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream {
        throw MartletError(.invalidArgument, "This transport has no streams.")
    }
}

/// Open connections without a request, the latest last.
private actor IdleSockets {
    /// In seconds; the server closes connections that are idle for longer.
    private static let longest: TimeInterval = 5

    private var sockets: [(socket: HTTPSocket, since: Date)] = []

    func take() -> HTTPSocket? {
        guard let (socket, since) = sockets.popLast() else { return nil }
        if Date().timeIntervalSince(since) < Self.longest { return socket }
        sockets = []
        return nil
    }

    func put(_ socket: HTTPSocket) { sockets.append((socket, Date())) }
}

/// A connection, used for one exchange at a time.
private final class HTTPSocket: @unchecked Sendable {
    private static let timeoutInSeconds = 60

    private let descriptor: Int32

    init(_ url: URL) throws {
        guard url.scheme == "http", let host = url.host else {
            throw MartletError(.invalidArgument, "\(url) is not an address of plain HTTP.")
        }
        var hints = addrinfo()
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(url.port ?? 80), &hints, &found) == 0, let address = found?.pointee else {
            throw MartletError(.notConnected, "There is no address of \(host).")
        }
        defer { freeaddrinfo(found) }
        descriptor = socket(address.ai_family, address.ai_socktype, 0)
        var limit = timeval(tv_sec: Self.timeoutInSeconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 else {
            throw MartletError(.notConnected, "\(host) does not accept a connection.")
        }
    }

    deinit { close(descriptor) }

    func exchange(_ request: HTTPRequest) throws -> HTTPResponse {
        try write(Self.bytes(of: request))
        var received = Data()
        let end = Data("\r\n\r\n".utf8)
        while true {
            try read(into: &received)
            guard let mark = received.range(of: end) else { continue }
            let head = try Self.head(received[..<mark.lowerBound])
            let body = received[mark.upperBound...]
            return HTTPResponse(status: head.status, headers: head.headers, body: try rest(of: body, head))
        }
    }

    private static func bytes(of request: HTTPRequest) -> Data {
        let parts = URLComponents(url: request.url, resolvingAgainstBaseURL: false)
        let target = (parts?.percentEncodedPath ?? "/") + (parts?.percentEncodedQuery.map { "?" + $0 } ?? "")
        let host = "\(request.url.host ?? ""):\(request.url.port ?? 80)"
        var lines = ["\(request.method) \(target) HTTP/1.1", "host: \(host)"]
        lines += request.headers.all.map { "\($0.name): \($0.value)" }
        if let body = request.body { lines.append("content-length: \(body.count)") }
        return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (request.body ?? Data())
    }

    private static func head(_ bytes: Data) throws -> HTTPHead {
        let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
        let status = lines[0].split(separator: " ")
        guard status.count > 1, let number = Int(status[1]) else {
            throw MartletError(.unexpectedAnswer, "“\(lines[0])” is not the first line of an answer.")
        }
        var head = HTTPHead(status: number)
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            head.headers[String(line[..<colon])] = value
        }
        return head
    }

    private func rest(of body: Data, _ head: HTTPHead) throws -> Data {
        if head.status == 204 || head.status == 304 { return Data() }
        guard let count = head.headers["content-length"].flatMap({ Int($0) }) else {
            throw MartletError(.unexpectedAnswer, "The answer does not say how long it is.")
        }
        var body = body
        while body.count < count { try read(into: &body) }
        return body
    }

    private func read(into data: inout Data) throws {
        let chunk = try [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else {
                count = 0
                throw MartletError(.connectionLost, "The connection ended before the answer.")
            }
        }
        data.append(contentsOf: chunk)
    }

    private func write(_ data: Data) throws {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { throw MartletError(.connectionLost, "The connection ended before the request.") }
            rest = rest.dropFirst(count)
        }
    }
}
