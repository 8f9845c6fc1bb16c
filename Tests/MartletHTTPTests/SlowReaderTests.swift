import Foundation
import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import MartletAPI
import MartletCore
import MartletTesting
import NIOCore
import Testing

@testable import MartletHTTP

/// Clients that request large responses and read nothing, over real sockets.
@Suite(.serialized) struct SlowReaderTests {
    private static let answerSize = 10 << 20

    private struct Lists: StubService {
        static let name = "lists"

        func addRoutes(to routes: inout RouteTable) {
            routes.get("/large") { _, _ in Response.json(ByteBuffer(repeating: 0x20, count: SlowReaderTests.answerSize))
            }
            routes.get("/small") { _, _ in Response.json("{}") }
        }
    }

    @Test func `200 clients that read nothing take no more than the response budget, and others are served`()
        async throws
    {
        let budgets = MemoryBudgets(answersInBytes: 64 << 20, maximumWait: .milliseconds(50))
        let router = ServiceProcess.makeRouter(Lists(), signer: ServiceClient.signer, memory: budgets)
        try await Application(router: router, logger: .silent).test(.live) { client in
            let port = try #require(client.port)
            let name = try #require(HTTPField.Name(HeaderName.principal))
            func headers() throws -> HTTPFields {
                [name: try ServiceClient.signer.header(for: .service("tests"), at: Date())]
            }
            let before = residentBytes()
            var sockets = try (0..<200).map { _ in try Silent(port: port) }
            for socket in sockets { try socket.ask("/large", "\(HeaderName.principal): \(headers()[name] ?? "")") }
            // A response is waiting for each, and none of it has been read.
            var statuses: [Int] = []
            for socket in sockets { statuses.append(try await eventually("an answer waits") { socket.status }) }
            let admitted = statuses.filter { $0 == 200 }.count
            // The kernel buffers some megabytes of each answer, which frees room. A slow machine admits more answers.
            #expect(((64 << 20) / Self.answerSize..<200).contains(admitted))
            #expect(statuses.filter { $0 == 503 }.count == 200 - admitted)
            #expect(budgets.answers.heldInBytes <= 64 << 20)
            // Without a limit it would be 2 GB; other tests run in this process, too.
            #expect(residentBytes() - before < 1 << 30)

            #expect(try await client.execute(uri: "/small", method: .get, headers: headers()).status == .ok)
            // While the kernel still takes more of the answers, there is room for others that read nothing.
            try await eventually("a large answer is refused") {
                let refused = try await client.execute(uri: "/large", method: .get, headers: headers())
                guard refused.status == .serviceUnavailable else {
                    let socket = try Silent(port: port)
                    try socket.ask("/large", "\(HeaderName.principal): \(headers()[name] ?? "")")
                    sockets.append(socket)
                    _ = try await eventually("an answer waits") { socket.status }
                    return false
                }
                #expect(refused.headers[.retryAfter] == "5")
                return true
            }
            sockets = []
            try await eventually("all answers are given back") { budgets.answers.heldInBytes == 0 }
            #expect(budgets.answers.heldInBytes == 0)
            let served = try await client.execute(uri: "/large", method: .get, headers: headers())
            #expect(served.status == .ok && served.body.readableBytes == Self.answerSize)
        }
    }

    /// A connection whose response is inspected but never read.
    private final class Silent: Sendable {
        private let descriptor: Int32

        init(port: Int) throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            try #require(descriptor >= 0)
            var size: Int32 = 16 << 10
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_in()
            (address.sin_family, address.sin_addr.s_addr) = (sa_family_t(AF_INET), inet_addr("127.0.0.1"))
            address.sin_port = UInt16(port).bigEndian
            let status = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            try #require(status == 0)
        }

        deinit { close(descriptor) }

        func ask(_ path: String, _ header: String) throws {
            let bytes = Array("GET \(path) HTTP/1.1\r\nhost: test\r\n\(header)\r\n\r\n".utf8)
            try #require(send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
        }

        /// The status of the waiting response, if there is one. Does not block, because the server may need this
        /// thread.
        var status: Int? {
            var start = [UInt8](repeating: 0, count: 12)
            guard recv(descriptor, &start, 12, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 12 else { return nil }
            return Int(String(decoding: start[9...], as: UTF8.self))
        }
    }
}
