import Foundation
import MartletKitSignals
import Testing

@testable import MartletKit

@Suite("Crashes")
struct CrashesTests {
    private struct CartError: Error { var reason: String }

    private static func martlet(
        _ transport: ScriptedTransport, _ folder: URL = Scratch.folder()
    ) throws -> Martlet {
        try Martlet.scripted(
            transport, folder: folder,
            change: {
                $0.sentryDSN = "https://key@martlet.test/crash/7"
                $0.device.bundleIdentifier = "com.example.shop"
                $0.device.build = "3"
            })
    }

    private static func event(_ request: HTTPRequest) throws -> JSON {
        let lines = (request.body ?? Data()).split(separator: UInt8(ascii: "\n"))
        try #require(lines.count == 3)
        return try JSON(parsing: Data(lines[2]))
    }

    @Test func `a caught error is reported with its stack, breadcrumbs, tags and release`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, ["id": "x"]) }
        let crashes = try Self.martlet(transport).crashes
        for number in 0..<70 { crashes.add(Breadcrumb("step \(number)", category: "navigation")) }
        crashes.setTag("plan", "gold")
        let id = crashes.capture(CartError(reason: "empty"), level: .warning)
        try await eventually("the report is sent") { transport.sent.count == 1 }
        #expect(transport.sent[0].url.absoluteString == "https://martlet.test/crash/api/7/envelope/")
        #expect(transport.sent[0].headers["x-sentry-auth"]?.contains("sentry_key=key") == true)
        let event = try Self.event(transport.sent[0])
        #expect(event["event_id"]?.stringValue == id && event["level"] == "warning")
        #expect(event["release"] == "com.example.shop@1.0+3" && event["tags"] == ["plan": "gold"])
        #expect(event["breadcrumbs"]?["values"]?.arrayValue?.count == 60)
        #expect(event["breadcrumbs"]?["values"]?[0]?["message"] == "step 10")
        let exception = event["exception"]?["values"]?[0]
        #expect(exception?["type"]?.stringValue?.hasSuffix("CartError") == true)
        #expect(exception?["value"]?.stringValue?.contains("empty") == true)
        let frames = exception?["stacktrace"]?["frames"]?.arrayValue ?? []
        #expect(frames.contains { $0["in_app"] == true && $0["instruction_addr"] != nil })
        let image = event["debug_meta"]?["images"]?[0]
        #expect(image?["debug_id"] != nil && image?["image_addr"] != nil && image?["code_file"] != nil)
    }

    @Test func `reports wait for the network, and a refused one does not block the others`() async throws {
        let status = Locked(503)
        let transport = ScriptedTransport { _, _ in HTTPResponse(status: status.withLock { $0 }) }
        let folder = Scratch.folder()
        let outbox = LocalFolder(url: folder).subfolder("crashes").subfolder("outbox")
        let first = try Self.martlet(transport, folder).crashes
        first.capture(message: "one")
        first.capture(message: "two")
        await first.flush()
        #expect(outbox.names.count == 2)
        status.withLock { $0 = 400 }
        await first.flush()
        #expect(outbox.names.isEmpty)
        for number in 0..<60 { first.capture(message: "\(number)") }
        status.withLock { $0 = 503 }
        await first.flush()
        #expect(outbox.names.count <= 50)
    }

    @Test func `without an address nothing is kept`() throws {
        let folder = Scratch.folder()
        let transport = ScriptedTransport { _, _ in HTTPResponse(status: 200) }
        let crashes = try Martlet.scripted(transport, folder: folder).crashes
        crashes.start()
        #expect(crashes.capture(message: "x") == nil)
        #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("crashes").path))
    }

    @Test(arguments: [
        "", "martlet 1\n", "martlet 2\nsignal b 1 0\ntime 1 1\n", "signal b 1 0\ntime 1 1\n",
        "martlet 1\nsignal b\ntime 1 1\n",
    ])
    func `text that is not a complete report is refused`(text: String) { #expect(CrashReport(Data(text.utf8)) == nil) }

    @Test func `a report that was cut off is read as far as it goes`() throws {
        let text =
            "martlet 1\nsignal b 1 10\ntime 1 0\nframes 1000 2000\nimage 1000 100 0 \(String(repeating: "ab", count: 20)) /bin/a b\n"
        let whole = try #require(CrashReport(Data((text + "context ff\n{\"tags\":{").utf8)))
        #expect(whole.frames == [0x1000, 0x2000] && whole.scope == [:] && whole.signalName == "SIGSEGV")
        #expect(whole.images.map(\.path) == ["/bin/a b"])
        let scoped = try #require(CrashReport(Data((text + "context 19\n{\"tags\":{\"a\":\"b\"}}\nxxxxxxend\n").utf8)))
        #expect(scoped.frames.count == 2)
    }

    @Test func `the debug id of ELF is the build id as a little-endian GUID`() {
        let image = CodeImage(
            address: 0, size: 1, preferred: 0, id: "0123456789abcdef0123456789abcdef01234567", path: "")
        #expect(image.debugID == "67452301-ab89-efcd-0123-456789abcdef")
    }

    @Test(arguments: ["", "x", "https://host/crash/1", "https://key@host", "https://key@host/"])
    func `an address without key or project is not valid`(text: String) { #expect(CrashAddress(text) == nil) }
}

/// Processes that really crash, each in a different way.
@Suite("Processes that crash", .serialized)
struct CrashingProcessTests {
    /// The environment variable with the child's folder. Exit tests pass the environment on.
    private static let variable = "MARTLET_KIT_CRASH_FOLDER"

    private static func begin() throws {
        let path = try #require(ProcessInfo.processInfo.environment[variable])
        var configuration = Martlet.Configuration(
            url: try #require(URL(string: "http://127.0.0.1:9")), appKey: "k", secret: "s")
        configuration.folder = URL(fileURLWithPath: path)
        configuration.sessionStore = MemorySessionStore()
        configuration.sentryDSN = "http://key@127.0.0.1:9/crash/1"
        let martlet = Martlet(configuration)
        martlet.crashes.start()
        martlet.crashes.setTag("test", URL(fileURLWithPath: path).lastPathComponent)
        martlet.crashes.add(Breadcrumb("about to crash"))
    }

    /// Starts the app again and returns what it reports, to the live server as well if there is one.
    private static func reported(_ folder: URL) async throws -> JSON {
        let transport = ScriptedTransport { request, _ in
            guard request.url.absoluteString.hasSuffix("envelope/") else { return HTTPResponse(200, [:]) }
            guard let server = LiveServer.shared else { return HTTPResponse(status: 200) }
            var live = request
            let dsn = try #require(server.connection["sentryDSN"]?.stringValue.flatMap { CrashAddress($0) })
            live.url = dsn.url
            live.headers["x-sentry-auth"] = "Sentry sentry_version=7, sentry_key=\(dsn.key)"
            return try await URLSessionTransport().send(live, progress: nil)
        }
        let martlet = try Martlet.scripted(
            transport, folder: folder, change: { $0.sentryDSN = "http://key@127.0.0.1:9/crash/1" })
        martlet.crashes.start()
        await martlet.crashes.flush()
        let sent = transport.sent.filter { $0.url.absoluteString.hasSuffix("envelope/") }
        #expect(sent.count == 1)
        let lines = (sent.first?.body ?? Data()).split(separator: UInt8(ascii: "\n"))
        let event = try JSON(parsing: Data(try #require(lines.last)))
        if let server = LiveServer.shared { _ = try await issue(of: event, folder, server) }
        return event
    }

    /// The issue whose newest report is this one.
    private static func issue(of event: JSON, _ folder: URL, _ server: LiveServer) async throws -> JSON {
        let (id, tag) = (try #require(event["event_id"]?.stringValue), folder.lastPathComponent)
        var found = JSON.null
        try await eventually("the server has the report") {
            let issues = try await server.manage("GET", "crashes/issues?limit=100")["data"]?.arrayValue ?? []
            for issue in issues {
                guard let number = issue["number"]?.intValue else { continue }
                let newest = try? await server.manage("GET", "crashes/issues/\(number)/reports/newest")
                guard let text = newest?.text, text.contains(id) || text.contains(tag) else { continue }
                found = issue
                return true
            }
            return false
        }
        return found
    }

    private static func expect(_ event: JSON, _ signal: String, _ folder: URL) {
        let exception = event["exception"]?["values"]?[0]
        #expect(exception?["type"]?.stringValue == signal)
        #expect(exception?["mechanism"]?["handled"] == false)
        #expect(event["level"] == "fatal" && event["tags"] == ["test": .string(folder.lastPathComponent)])
        #expect(event["breadcrumbs"]?["values"]?[0]?["message"] == "about to crash")
        let frames = exception?["stacktrace"]?["frames"]?.arrayValue ?? []
        // The system picks the thread that gets a signal from outside, so its stack may not be the app's.
        if signal == "SIGFPE" {
            #expect(!frames.isEmpty)
        } else {
            #expect(frames.contains { $0["in_app"] == true })
        }
        #expect(event["debug_meta"]?["images"]?.arrayValue?.isEmpty == false)
    }

    private static func prepare() -> URL {
        let folder = Scratch.folder()
        setenv(variable, folder.path, 1)
        return folder
    }

    @Test func `a process that fails a runtime check of Swift leaves a report`() async throws {
        let folder = Self.prepare()
        await #expect(processExitsWith: .failure) {
            try CrashingProcessTests.begin()
            fatalError("as planned")
        }
        Self.expect(try await Self.reported(folder), "SIGILL", folder)
    }

    @inline(never) private static func writeNowhere() { UnsafeMutablePointer<Int>(bitPattern: 0x10)?.pointee = 1 }

    @Test func `a process that writes to unmapped memory leaves a report, and the server names the function`()
        async throws
    {
        let folder = Self.prepare()
        if DebugSymbols.canUpload { try await DebugSymbols.upload(namesWith: "writeNowhere") }
        await #expect(processExitsWith: .signal(SIGSEGV)) {
            try CrashingProcessTests.begin()
            CrashingProcessTests.writeNowhere()
        }
        let event = try await Self.reported(folder)
        Self.expect(event, "SIGSEGV", folder)
        #expect(event["exception"]?["values"]?[0]?["value"]?.stringValue?.hasSuffix("0x10") == true)
        guard DebugSymbols.canUpload, let server = LiveServer.shared else { return }
        let issue = try await Self.issue(of: event, folder, server)
        #expect(issue["culprit"]?.stringValue?.contains("writeNowhere") == true, "\(issue)")
    }

    @Test func `a process that aborts, as after an uncaught exception of C++, leaves a report`() async throws {
        let folder = Self.prepare()
        await #expect(processExitsWith: .signal(SIGABRT)) {
            try CrashingProcessTests.begin()
            abort()
        }
        Self.expect(try await Self.reported(folder), "SIGABRT", folder)
    }

    @Test func `a process that gets an arithmetic signal leaves a report`() async throws {
        let folder = Self.prepare()
        await #expect(processExitsWith: .signal(SIGFPE)) {
            try CrashingProcessTests.begin()
            kill(getpid(), SIGFPE)
            while true { sleep(1) }
        }
        Self.expect(try await Self.reported(folder), "SIGFPE", folder)
    }

    @Test func `a process whose stack overflows leaves a report`() async throws {
        let folder = Self.prepare()
        await #expect(processExitsWith: .failure) {
            try CrashingProcessTests.begin()
            func deeper(_ depth: Int) -> Int { depth < 0 ? 0 : deeper(depth + 1) + deeper(depth + 2) }
            print(deeper(Int(getpid())))
        }
        let event = try await Self.reported(folder)
        Self.expect(event, "SIGSEGV", folder)
        #expect((event["exception"]?["values"]?[0]?["stacktrace"]?["frames"]?.arrayValue ?? []).count > 200)
    }

    @Test func `a process that exits normally leaves no report`() async throws {
        let folder = Self.prepare()
        await #expect(processExitsWith: .success) {
            try CrashingProcessTests.begin()
            exit(0)
        }
        let transport = ScriptedTransport { _, _ in HTTPResponse(status: 200) }
        let martlet = try Martlet.scripted(
            transport, folder: folder, change: { $0.sentryDSN = "http://key@127.0.0.1:9/crash/1" })
        martlet.crashes.start()
        await martlet.crashes.flush()
        #expect(transport.sent.isEmpty)
    }
}
