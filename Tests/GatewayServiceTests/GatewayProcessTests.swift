import Foundation
import MartletCore
import NIOCore
import Synchronization
import Testing

@testable import GatewayService

/// The actual program, in front of an upstream and an `auth` in this process.
@Suite(.serialized) struct GatewayProcessTests {
    @Test func `A restart under load loses no request, streams reconnect, and the old process soon exits`()
        async throws
    {
        try await withSurroundings { surroundings in
            let port = try await surroundings.freePort()
            let shared = ["MARTLET_HTTP_PORT": "\(port)", "MARTLET_HTTP_SHARED": "true"]
            var running = try await surroundings.start(shared)
            defer { running.signal(SIGTERM) }
            let load = Load()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                // The load must end after an error, too, because otherwise the clients would never end.
                defer { load.isOver.store(true, ordering: .relaxed) }
                for client in 0..<24 {
                    tasks.addTask {
                        while !load.isOver.load(ordering: .relaxed) {
                            guard let connection = try? await RawClient.connect(port) else {
                                load.book.withLock { $0.failures.append("refused") }
                                continue
                            }
                            await ask(on: connection, keeping: client.isMultiple(of: 2), load)
                            await connection.close()
                        }
                    }
                }
                for _ in 0..<20 {
                    tasks.addTask {
                        while !load.isOver.load(ordering: .relaxed) {
                            guard let connection = try? await RawClient.connect(port) else { continue }
                            try? await connection.send(
                                TestGateway.request("endless").replacing("/storage/", with: "/live/"))
                            await connection.wait(for: "data: 1\n\n", within: .seconds(120))
                            if connection.text.contains("data: 1\n\n") { load.book.withLock { $0.streams += 1 } }
                            await eventually(within: .seconds(120)) {
                                connection.isClosed || load.isOver.load(ordering: .relaxed)
                            }
                            if connection.isClosed, !connection.text.hasSuffix("\n\n\r\n0\r\n\r\n") {
                                load.book.withLock {
                                    $0.failures.append("a stream was cut off: \(connection.text.suffix(40))")
                                }
                            }
                            await connection.close()
                        }
                    }
                }
                await eventually(within: .seconds(120)) { load.book.withLock { $0.streams >= 20 && $0.answers > 100 } }
                for _ in 0..<2 {
                    let next = try await surroundings.start(shared)
                    let streams = load.book.withLock { $0.streams }
                    running.signal(SIGTERM)
                    let isGone = await eventually(within: .seconds(20)) { !running.process.isRunning }
                    #expect(
                        isGone && running.process.terminationStatus == 0, "the gateway did not wait the full 25 s"
                    )
                    let areBack = await eventually(within: .seconds(120)) {
                        load.book.withLock { $0.streams } >= streams + 20
                    }
                    #expect(areBack)
                    let before = load.book.withLock { $0.answers }
                    await eventually(within: .seconds(120)) { load.book.withLock { $0.answers } > before + 100 }
                    running = next
                }
                load.isOver.store(true, ordering: .relaxed)
                try await tasks.waitForAll()
            }
            let result = load.book.withLock { $0 }
            #expect(
                result.failures == [] && result.answers > 300,
                "\(result.answers) answers, \(result.failures.count) failures")
        }
    }

    @Test
    func
        `Too few open files prevent the start with one line, and with few the gateway survives more clients than it can hold`()
        async throws
    {
        try await withSurroundings { surroundings in
            let refused = try surroundings.launch("ulimit -n 256", ["MARTLET_HTTP_PORT": "0"])
            let hasEnded = await eventually(within: .seconds(120)) { !refused.process.isRunning }
            #expect(hasEnded && refused.process.terminationStatus == 1)
            #expect(
                refused.errors
                    == "gateway: the limit of open files must be at least 1024, found 256 (ulimit -n, LimitNOFILE= of systemd)\n"
            )

            let port = try await surroundings.freePort()
            let few = try await surroundings.start(
                ["MARTLET_HTTP_PORT": "\(port)"], limits: "ulimit -S -n 256; ulimit -H -n 1024")
            defer { few.signal(SIGTERM) }
            var clients: [RawClient] = []
            for number in 0..<1_100 {
                guard let client = try? await RawClient.connect(port, from: "127.0.1.\(1 + number % 250)") else {
                    continue
                }
                try? await client.send(TestGateway.request("never").replacing("/storage/", with: "/live/"))
                clients.append(client)
            }
            let areClosed = await eventually(within: .seconds(120)) { clients.filter(\.isClosed).count > 500 }
            #expect(areClosed)
            #expect(few.process.isRunning)
            for client in clients { await client.close() }
            let serves = await eventually(within: .seconds(120)) {
                guard let client = try? await RawClient.connect(port) else { return false }
                try? await client.send(TestGateway.request("x", ["Connection: close"]))
                await client.waitForClose()
                return client.status == 200
            }
            #expect(serves && few.process.isRunning)
        }
    }
}

/// Counts what clients of a restarted gateway see.
private final class Load: Sendable {
    let book = Mutex((answers: 0, failures: [String](), streams: 0))
    let isOver = Atomic(false)
}

/// Sends requests with side effects one after the other; each must be answered.
private func ask(on connection: RawClient, keeping: Bool, _ load: Load) async {
    for count in 1...100 {
        try? await connection.send(
            TestGateway.request("x", keeping ? [] : ["Connection: close"], method: "POST", body: "abc"))
        await eventually(within: .seconds(120)) {
            connection.isClosed || connection.text.components(of: "\r\n\r\nupstream-0").count > count
        }
        let answers = connection.text.components(of: "\r\n\r\nupstream-0").count - 1
        load.book.withLock {
            if answers == count {
                $0.answers += 1
            } else {
                $0.failures.append("\(answers) answers to \(count): \(connection.text.suffix(200))")
            }
        }
        if answers != count || connection.isClosed || connection.text.contains("connection: close")
            || load.isOver.load(ordering: .relaxed)
        {
            return
        }
    }
}

private struct Surroundings {
    let upstream: TestUpstream
    let auth: TestAuth
    let folder: URL

    /// Starts a gateway and waits until it is ready.
    func start(_ settings: [String: String], limits: String = "true") async throws -> GatewayProcess {
        let port = try await freePort()
        let gateway = try launch(limits, settings.merging(["MARTLET_INTERNAL_PORT": "\(port)"]) { $1 })
        let isReady = await eventually(within: .seconds(120)) {
            guard gateway.process.isRunning, let client = try? await RawClient.connect(port) else { return false }
            try? await client.send("GET /health/ready HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n")
            await client.waitForClose()
            return client.status == 200
        }
        if !isReady { gateway.signal(SIGKILL) }
        try #require(isReady, "\(gateway.errors)")
        return gateway
    }

    func launch(_ limits: String, _ settings: [String: String]) throws -> GatewayProcess {
        let program = GatewayProcess.program
        try #require(FileManager.default.isExecutableFile(atPath: program), "swift build --product gateway")
        let errors = folder.appending(path: "\(UUID().uuidString).log")
        _ = FileManager.default.createFile(atPath: errors.path, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "\(limits); exec \"\(program)\""]
        process.environment = [
            "MARTLET_INTERNAL_SECRET": "a-secret-of-at-least-thirty-two-characters", "MARTLET_KEYRING_URL": auth.url,
            "MARTLET_ROUTES_FILE": folder.appending(path: "routes.json").path, "MARTLET_STATE_DIRECTORY": folder.path,
            "MARTLET_UPSTREAM_STORAGE": upstream.address, "MARTLET_LOG_REQUESTS": "false", "MARTLET_LOG_LEVEL": "error",
            "MARTLET_INTERNAL_PORT": "0",
        ].merging(settings) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        return GatewayProcess(process: process, errorFile: errors)
    }

    func freePort() async throws -> Int {
        let upstream = try await TestUpstream.start("nobody")
        let port = upstream.port
        await upstream.stop()
        return port
    }
}

private struct GatewayProcess {
    let process: Process
    let errorFile: URL

    /// `MARTLET_PROGRAMS`, or the folder of the tests themselves.
    static var program: String {
        if let folder = ProcessInfo.processInfo.environment["MARTLET_PROGRAMS"], !folder.isEmpty {
            return folder + "/gateway"
        }
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appending(path: "gateway").path
    }

    var errors: String { (try? String(contentsOf: errorFile, encoding: .utf8)) ?? "" }

    func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }
}

private func withSurroundings(_ body: (Surroundings) async throws -> Void) async throws {
    // This process holds the other end of every connection, so it needs as many descriptors.
    var limits = rlimit()
    getrlimit(openFiles, &limits)
    limits.rlim_cur = limits.rlim_max
    setrlimit(openFiles, &limits)
    let folder = URL(fileURLWithPath: NSTemporaryDirectory() + "gateway-process-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try testRoutes.write(to: folder.appending(path: "routes.json"), atomically: true, encoding: .utf8)
    let surroundings = Surroundings(
        upstream: try await TestUpstream.start("upstream-0"), auth: try await TestAuth.start(TestKeys.ring),
        folder: folder)
    func end() async {
        await surroundings.upstream.stop()
        await surroundings.auth.stop()
        try? FileManager.default.removeItem(at: folder)
    }
    do {
        try await body(surroundings)
    } catch {
        await end()
        throw error
    }
    await end()
}

#if canImport(Glibc)
private let openFiles = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
#else
private let openFiles = RLIMIT_NOFILE
#endif
