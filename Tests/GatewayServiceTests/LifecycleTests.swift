import Foundation
import NIOHTTP1
import NIOSSL
import Synchronization
import Testing

@testable import GatewayService

@Suite struct LifecycleTests {
    @Test func `Each request is logged in one line without keys, paths or queries`() async throws {
        let lines = Mutex<[UInt8]>([])
        try await withGateway(configure: {
            $0.logsRequests = true
            $0.requestLines = { bytes in lines.withLock { $0 += bytes } }
        }) { test in
            _ = try await test.ask("Notes/secret-path?token=hidden", ["X-Request-Id: req-1"])
            _ = try await test.exchange(TestGateway.request("x", ["Connection: close"], secret: "wrong"))
            await eventually { lines.withLock { $0.split(separator: 0x0a).count } == 2 }
            let text = lines.withLock { String(decoding: $0, as: UTF8.self) }
            for hidden in ["mk_live_A", "ms_A", "wrong", "secret-path", "hidden"] { #expect(!text.contains(hidden)) }
            let first = try #require(text.split(separator: "\n").first { $0.contains("req-1") })
            let object = try #require(try JSONSerialization.jsonObject(with: Data(first.utf8)) as? [String: Any])
            #expect(object["request.route"] as? String == "/api/{appKey}/storage/**")
            #expect(object["response.status"] as? Int == 200 && object["bytes.out"] as? Int == 10)
            #expect(object["app.id"] as? String == "alpha" && object["credential.id"] as? String == "k-live")
            #expect(object["upstream.address"] as? String == test.upstream.address)
            let time = try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(
                object["time"] as? String ?? "")
            #expect(abs(time.timeIntervalSinceNow) < 600)
        }
    }

    @Test func `Routes are reloaded without dropping a connection, and an invalid file changes nothing`() async throws {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request("x"))
            await client.wait(for: "upstream-0")
            let status9 = try await test.exchange("GET /fresh HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n").status
            #expect(status9 == 404)
            try "{".write(toFile: test.routesFile, atomically: true, encoding: .utf8)
            test.gateway.reloadRoutes()
            let status10 = try await test.ask("x").status
            #expect(status10 == 200)
            let more = testRoutes.replacing(
                "{\"routes\": [",
                with:
                    "{\"routes\": [{\"path\": \"/fresh\", \"upstream\": \"storage\", \"credential\": \"none\", \"methods\": [\"GET\"]},"
            )
            try more.write(toFile: test.routesFile, atomically: true, encoding: .utf8)
            test.gateway.reloadRoutes()
            let isReachable = await eventually {
                (try? await test.exchange("GET /fresh HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n").status) == 200
            }
            #expect(isReachable)
            #expect(!client.isClosed)
            try await client.send(TestGateway.request("y"))
            await eventually { client.text.components(of: "HTTP/1.1 200").count == 3 }
            #expect(client.text.components(of: "HTTP/1.1 200").count == 3)
            await client.close()
        }
    }

    @Test(arguments: [
        (#""path":"api/x""#, "begin with a slash"), (#""path":"/x/**/y""#, "** must come last"),
        (#""upstream":"nowhere""#, "unknown upstream 'nowhere'"),
        (#""methods":["FROB"]"#, "method 'FROB'"), (#""methods":[]"#, "no methods"),
        (#""credential":"client""#, "needs {appKey}"),
        (#""rewrite":"/{who}""#, "names {who}"), (#""credential":"magic""#, "magic"),
        (#""maximumBodyBytes":-1"#, "negative"),
    ])
    func `An invalid route is reported at startup`(_ change: String, _ message: String) throws {
        var fields = [
            "path": #""path":"/x""#, "upstream": #""upstream":"storage""#, "credential": #""credential":"none""#,
            "methods": #""methods":["GET"]"#,
        ]
        fields[String(change.split(separator: "\"")[0])] = change
        let file = NSTemporaryDirectory() + "routes-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "{\"routes\":[{\(fields.values.joined(separator: ","))}]}".write(
            toFile: file, atomically: true, encoding: .utf8)
        let configuration = GatewayConfiguration(
            routesFile: file, upstreams: ["storage": ["127.0.0.1:1"]], internalSecret: TestKeys.internalSecret,
            keyRingURL: "http://127.0.0.1:1",
            stateDirectory: NSTemporaryDirectory())
        let error = #expect(throws: GatewayConfigurationError.self) {
            _ = try RouteTable(RouteFile.read(file), configuration: configuration)
        }
        let text = error?.description ?? ""
        #expect(text.contains(message), "\(text)")
    }

    @Test func `A new certificate is used for new connections while old ones continue`() async throws {
        let directory = NSTemporaryDirectory() + "gateway-tls-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try makeCertificate(directory, "first")
        let tls = GatewayConfiguration.TLS(certificateFile: directory + "/cert.pem", keyFile: directory + "/key.pem")
        try await withGateway(configure: { $0.tls = tls }) { test in
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(directory + "/cert.pem"))
            configuration.certificateVerification = .noHostnameVerification
            let trustsFirst = try NIOSSLContext(configuration: configuration)
            let old = try await RawClient.connect(test.port, tls: trustsFirst)
            try await old.send(TestGateway.request("x"))
            await old.wait(for: "upstream-0")
            #expect(old.status == 200)
            #expect(test.upstream.arrivals.first?.head.headers["x-forwarded-proto"] == ["https"])
            try makeCertificate(directory, "second")
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(directory + "/cert.pem"))
            let trustsSecond = try NIOSSLContext(configuration: configuration)
            let isReloaded = await eventually {
                guard let fresh = try? await RawClient.connect(test.port, tls: trustsSecond) else { return false }
                try? await fresh.send(TestGateway.request("y", ["Connection: close"]))
                await fresh.waitForClose()
                return fresh.status == 200
            }
            #expect(isReloaded)
            try await old.send(TestGateway.request("z"))
            await eventually { old.text.components(of: "HTTP/1.1 200").count == 3 }
            #expect(old.text.components(of: "HTTP/1.1 200").count == 3)
            await old.close()
        }
        try? FileManager.default.removeItem(atPath: directory)
    }
}
