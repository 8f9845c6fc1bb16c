import NIOCore
import Testing

@testable import GatewayService

@Suite struct WireTests {
    @Test(arguments: [
        ("Host", FieldName.host), ("CONTENT-LENGTH", .contentLength), ("Transfer-Encoding", .transferEncoding),
        ("connection", .connection),
        ("Keep-Alive", .keepAlive), ("Upgrade", .upgrade), ("TE", .te), ("Trailer", .trailer), ("Expect", .expect),
        ("Proxy-Connection", .proxyConnection),
        ("Proxy-Authenticate", .proxyAuthenticate), ("Proxy-Authorization", .proxyAuthorization),
        ("HTTP2-Settings", .http2Settings),
        ("X-Martlet-Secret", .secret), ("x-martlet-master-key", .masterKey), ("X-Martlet-Environment", .environment),
        ("X-Martlet-Principal", .otherMartlet),
        ("X-Martlet-", .otherMartlet), ("X-Request-Id", .requestID), ("Forwarded", .forwarded),
        ("X-Forwarded-For", .forwardedFor),
        ("X-Forwarded-Proto", .forwardedProto), ("X-Forwarded-Host", .forwardedHost), ("Authorization", .authorization),
        ("X-API-Key", .apiKey),
        ("X-Sentry-Auth", .sentryAuth), ("Origin", .origin),
        ("Access-Control-Request-Method", .accessControlRequestMethod),
        ("Access-Control-Request-Headers", .accessControlRequestHeaders),
        ("Access-Control-Max-Age", .accessControlAnswer), ("Server", .server),
        ("Hosts", .other), ("X-Martlet", .other), ("Accept", .other), ("te2", .other), ("a", .other),
        ("x-forwarded-port", .other),
    ])
    func `Header names are case-insensitive`(_ name: String, _ meaning: FieldName) {
        let found = Array(name.utf8).withUnsafeBytes { FieldName($0) }
        #expect(found == meaning)
    }

    @Test(arguments: [("X-Martlet-Waited: 1500", 1_500), ("x-martlet-waited: -1", 0), ("x-waited: 1", 0)])
    func `A service says for how long it waited for others`(_ line: String, _ microseconds: Int64) throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(line)\r\n\r\n".utf8)
        var parser = ResponseParser(maximumHeadBytes: 1_000)
        try bytes.withUnsafeBytes { bytes in
            let length = try parser.parse(bytes)
            #expect(length == bytes.count)
            #expect(parser.head.waited(in: bytes) == .microseconds(microseconds))
        }
    }

    @Test func `A request's head is parsed in the same way however it is split`() throws {
        let text = "POST /a/b?c HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nConnection: close\r\n\r\n"
        let bytes = Array(text.utf8)
        for step in 1...bytes.count {
            var parser = RequestParser(limits: .init(headInBytes: 1000, fieldCount: 10, targetInBytes: 100))
            var length: Int?
            var count = 0
            while length == nil, count < bytes.count {
                count = min(bytes.count, count + step)
                length = try bytes[..<count].withUnsafeBytes { try parser.parse($0) }
            }
            #expect(length == bytes.count)
            #expect(parser.head.contentLength == 12 && !parser.head.keepsAlive && parser.head.fields.count == 3)
        }
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("0.0.0.0/0", "8.8.8.8", true),
        ("0.0.0.0/0", "::1", false),
        ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false), ("fc00::/7", "fd12::1", true),
        ("fc00::/7", "fe80::1", false),
        ("::1/128", "::1", true), ("::ffff:10.0.0.0/104", "10.1.2.3", true), ("172.16.0.0/12", "172.32.0.1", false),
        ("172.16.0.0/12", "172.31.0.1", true),
    ])
    func `Networks contain the right addresses`(_ network: String, _ address: String, _ isInside: Bool) throws {
        let network = try #require(Network(network))
        let address = try #require(IPAddress(address))
        #expect(network.contains(address) == isInside)
    }

    @Test(arguments: ["10.0.0.0/33", "10.0.0/8", "x", "::1/129", "10.0.0.0/-1", ""])
    func `Invalid networks are refused`(_ text: String) { #expect(Network(text) == nil) }

    @Test func `Buckets refill at their rate`() {
        let buckets = TokenBuckets<String>(.init(requestsPerSecond: 2, burst: 2))
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        #expect(buckets.take("a", at: start) == nil && buckets.take("a", at: start) == nil)
        #expect(buckets.take("a", at: start) == 1)
        #expect(buckets.take("b", at: start) == nil)
        #expect(buckets.take("a", at: start + .milliseconds(500)) == nil)
        #expect(buckets.take("a", at: start + .milliseconds(500)) == 1)
    }

    @Test func `Request ids are 32 digits and differ`() {
        var generator = RequestID.Generator()
        let ids = Set((0..<1000).map { _ in generator.next().text })
        #expect(ids.count == 1000)
        let areHexadecimal = ids.allSatisfy { $0.utf8.count == 32 && $0.allSatisfy(\.isHexDigit) }
        #expect(areHexadecimal)
        #expect(RequestID.made(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210).text == "0123456789abcdeffedcba9876543210")
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `Addresses are written as in the configuration`(_ host: String) throws {
        let text = try SocketAddress(ipAddress: host, port: 81).configured
        #expect(text == (host == "::1" ? "[::1]:81" : "127.0.0.1:81"))
        #expect(try HostAndPort(text).host == host)
    }

    @Test func `A socket address is a path within the system's length limit`() throws {
        #expect(try UpstreamTarget("unix:/run/storage.sock") == .socket(path: "/run/storage.sock"))
        #expect(try SocketAddress(unixDomainSocketPath: "/run/storage.sock").configured == "unix:/run/storage.sock")
        for text in ["unix:", "unix:storage.sock", "unix:/" + String(repeating: "x", count: 107)] {
            #expect(throws: GatewayConfigurationError.self) { try UpstreamTarget(text) }
        }
    }
}
