import Foundation
import MartletTesting
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import GatewayService

@Suite(.serialized) struct StreamingTests {
    static let size = 100 * 1024 * 1024

    @Test func `A slow reader slows the upstream down instead of filling the gateway`() async throws {
        try await withGateway { test in
            let before = residentBytes()
            let client = try await test.connect(reading: false)
            try await client.send(TestGateway.request("big", ["Connection: close"]))
            // The kernel's buffers and the gateway's watermarks hold a few megabytes; then it must stop.
            await eventually { test.upstream.sentBytes > 0 }
            var sent = -1
            await eventually {
                defer { sent = test.upstream.sentBytes }
                try? await Task.sleep(for: .milliseconds(200))
                return test.upstream.sentBytes == sent
            }
            #expect(test.upstream.sentBytes < 40 * 1024 * 1024)
            client.startReading()
            let isComplete = await eventually(within: .seconds(120)) { client.count > Self.size }
            #expect(isComplete, "\(client.count)")
            // Client and upstream run in this process: 100 MB received belong to them.
            #expect(residentBytes() - before < 350 * 1024 * 1024)
        }
    }

    @Test func `100 MB are uploaded without buffering, with a length and in chunks`() async throws {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(
                "POST /api/mk_live_A/storage/sink HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\nContent-Length: \(Self.size)\r\n\r\n"
            )
            let block = [UInt8](repeating: 0x62, count: 1024 * 1024)
            for _ in 0..<100 { try await client.send(block) }
            await client.wait(for: "\(Self.size)", within: .seconds(120))
            #expect(client.text.hasSuffix("\r\n\r\n\(Self.size)"), "\(client.text)")
            try await client.send(
                "POST /api/mk_live_A/storage/sink HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for _ in 0..<20 {
                try await client.send("100000\r\n")
                try await client.send(block)
                try await client.send("\r\n")
            }
            try await client.send("0\r\n\r\n")
            await client.wait(for: "\r\n\r\n20971520", within: .seconds(120))
            #expect(client.text.hasSuffix("\r\n\r\n20971520"))
            await client.close()
        }
    }

    @Test func `Events are forwarded as they arrive, and the upstream notices when the client disconnects`()
        async throws
    {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(
                "GET /api/mk_live_A/live/events HTTP/1.1\r\nHost: gw\r\nX-Martlet-Secret: ms_A\r\n\r\n")
            await client.wait(for: "data: 1\n\n")
            #expect(!client.text.contains("data: 50\n\n"), "the event came before the upstream response ended")
            await client.wait(for: "data: 3\n\n")
            #expect(client.text.contains("transfer-encoding: chunked"))
            await client.close()
            let isAborted = await eventually { test.upstream.arrivals.first?.isAborted == true }
            #expect(isAborted)
        }
    }

    @Test func `A client that disconnects while waiting aborts the upstream's work`() async throws {
        try await withGateway(configure: { $0.timeouts.halfClosed = .milliseconds(500) }) { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request("never"))
            await eventually { test.upstream.arrivals.count == 1 }
            await client.close()
            let isAborted = await eventually { test.upstream.arrivals.first?.isAborted == true }
            #expect(isAborted)
            let uploading = try await test.connect()
            try await uploading.send(TestGateway.request("sink", ["Content-Length: 100"], method: "POST") + "abc")
            await eventually { test.upstream.arrivals.count == 2 }
            await uploading.close()
            let isUploadAborted = await eventually { test.upstream.arrivals.last?.isAborted == true }
            #expect(isUploadAborted)
        }
    }

    @Test func `A client that has closed its sending side gets its response`() async throws {
        try await withGateway { test in
            let client = try await test.connect()
            try await client.send(TestGateway.request("slow"))
            try await client.closeOutput()
            await client.waitForClose()
            #expect(client.status == 200 && client.body == "slow")
        }
    }

    @Test func `A WebSocket becomes a bidirectional pipe, on streaming routes only`() async throws {
        let server = try await UpgradeServer.start()
        try await withGateway(configure: {
            $0.upstreams = ["storage": [server.address]]
            $0.healthPath = nil
        }) { test in
            let upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: abc"]
            let client = try await test.connect()
            let request = TestGateway.request("socket", upgrade).replacing("/storage/", with: "/live/")
            try await client.send(request + "early")
            await client.wait(for: "early")
            #expect(client.text.hasPrefix("HTTP/1.1 101"), "\(client.text)")
            #expect(client.text.lowercased().contains("upgrade: websocket"))
            #expect(client.text.contains("sec-websocket-accept: xyz"))
            try await client.send([0x81, 0x00, 0xff, 0x0d, 0x0a])
            let before = client.count
            await eventually { client.count >= before }
            let big = String(repeating: "z", count: 3_000_000)
            try await client.send(big + "!")
            await client.wait(for: "!")
            #expect(client.text.hasSuffix("z!"))
            await client.close()
            let plain = try await test.connect()
            try await plain.send(TestGateway.request("socket", upgrade))
            await plain.wait(for: "plain")
            #expect(plain.status == 200, "\(plain.text)")
            await plain.close()
        }
        await server.stop()
    }
}

/// Answers an upgrade with 101 and echoes from then on; answers anything else with 200.
final class UpgradeServer: Sendable {
    private let channel: any Channel

    static func start() async throws -> UpgradeServer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return UpgradeServer(channel)
    }

    private init(_ channel: any Channel) { self.channel = channel }

    var address: String { "127.0.0.1:\(channel.localAddress?.port ?? 0)" }
    func stop() async { try? await channel.close().get() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var head = ""
        private var isUpgraded = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var buffer = unwrapInboundIn(data)
            if isUpgraded { return context.writeAndFlush(wrapOutboundOut(buffer), promise: nil) }
            head += buffer.readString(length: buffer.readableBytes) ?? ""
            guard let end = head.range(of: "\r\n\r\n") else { return }
            let rest = String(head[end.upperBound...])
            isUpgraded = head.lowercased().contains("upgrade: websocket")
            let answer =
                isUpgraded
                ? "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nsec-websocket-accept: xyz\r\n\r\n"
                    + rest
                : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain"
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        }
    }
}
