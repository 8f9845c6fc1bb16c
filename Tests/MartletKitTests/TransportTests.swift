import Foundation
import Testing

@testable import MartletKit

#if canImport(Glibc)
import Glibc

/// A port that accepts connections and never answers, or that refuses them.
private final class SilentPort: Sendable {
    let number: UInt16
    private let descriptor: Int32

    init(isListening: Bool) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (descriptor, length) = (descriptor, size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        try #require(status)
        if isListening { try #require(listen(descriptor, 8) == 0) }
        number = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    /// Accepts one connection after all, answers `count` requests on it, and returns their methods.
    func methods(of count: Int) async -> [String] {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [descriptor] in
                let connection = accept(descriptor, nil, nil)
                defer { close(connection) }
                var methods: [String] = []
                var bytes = [UInt8](repeating: 0, count: 4_096)
                let answer = Array("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".utf8)
                while methods.count < count {
                    let length = recv(connection, &bytes, bytes.count, 0)
                    guard length > 0 else { break }
                    methods.append(String(String(decoding: bytes[..<length], as: UTF8.self).prefix { $0 != " " }))
                    _ = send(connection, answer, answer.count, 0)
                }
                continuation.resume(returning: methods)
            }
        }
    }

    func url() throws -> URL { try #require(URL(string: "http://127.0.0.1:\(number)/")) }
}

struct TransportTests {
    let transport = URLSessionTransport()

    @Test func `a refused connection means that the request was certainly not sent`() async throws {
        let port = try SilentPort(isListening: false)
        let request = HTTPRequest(method: "POST", url: try port.url(), body: Data("x".utf8))
        await #expect { try await transport.send(request, progress: nil) } throws: {
            ($0 as? MartletError)?.code == .notConnected
        }
    }

    @Test(arguments: [HTTPRequest.Timeout.total(0.3), .idle(0.3)])
    func `silence ends after the timeout`(timeout: HTTPRequest.Timeout) async throws {
        let port = try SilentPort(isListening: true)
        let request = HTTPRequest(method: "GET", url: try port.url(), timeout: timeout)
        let start = Date()
        await #expect { try await transport.send(request, progress: nil) } throws: {
            ($0 as? MartletError)?.code == .timedOut
        }
        await #expect { _ = try await transport.stream(request) } throws: { ($0 as? MartletError)?.code == .timedOut }
        #expect(Date().timeIntervalSince(start) < 120)
    }

    @Test func `a stream gets a connection that was used before, on which waiting takes no CPU`() async throws {
        let port = try SilentPort(isListening: true)
        async let methods = port.methods(of: 2)
        let stream = try await transport.stream(HTTPRequest(method: "GET", url: try port.url(), timeout: .idle(60)))
        #expect(stream.head.status == 200)
        #expect(await methods == ["HEAD", "GET"])
    }

    @Test func `a body that arrives faster than it is read is ended, without a gap`() async throws {
        var (body, feed) = BodyFeed.make()
        var reader = body.makeAsyncIterator()
        let piece = Data(count: 1 << 20)
        for _ in 0..<20 {
            let isPassed = feed.pass(piece)
            let read = try await reader.next()
            #expect(isPassed && read == piece)
        }
        let passed = (0..<30).prefix { _ in feed.pass(piece) }.count
        #expect((15...17).contains(passed))
        // The piece that exceeded the limit is still delivered.
        for _ in 0...passed {
            let read = try await reader.next()
            #expect(read == piece)
        }
        let isPassedLater = feed.pass(piece)
        #expect(!isPassedLater, "the limit was exceeded before")
        feed.continuation.finish()
        let end = try await reader.next()
        #expect(end == nil)
        (body, feed) = BodyFeed.make()
        let small = (0...BodyFeed.maximumPieces).filter { _ in feed.pass(Data([0])) }
        #expect(small.count == BodyFeed.maximumPieces)
        withExtendedLifetime(body) {}
    }

    @Test func `a cancelled request ends at once`() async throws {
        let port = try SilentPort(isListening: true)
        let request = HTTPRequest(method: "GET", url: try port.url(), timeout: .total(60))
        let task = Task { try await transport.send(request, progress: nil) }
        try await Task.sleep(nanoseconds: 100_000_000)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
#endif
