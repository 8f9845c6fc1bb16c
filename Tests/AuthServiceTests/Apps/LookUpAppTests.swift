import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletTesting
import Synchronization
import Testing

@testable import AuthService

/// An app store in this process that records requests and gives the configured answers.
private final class TestStore: Sendable {
    struct Answer: Sendable {
        var status = 200
        var body: [UInt8] = []
        var headers: [String: String] = [:]
        var delay: Duration = .zero
    }

    private let answers = Mutex<[String: Answer]>([:])
    private let received = Mutex<[String]>([])
    let port = Mutex(0)

    var url: String { "http://127.0.0.1:\(port.withLock { $0 })" }
    var requests: [String] { received.withLock { $0 } }

    /// - Parameter path: `/lookup`, or the path of an icon.
    func answer(_ path: String, _ answer: Answer) { answers.withLock { $0[path] = answer } }

    func answer(record: String) {
        answer("/lookup", Answer(body: Array(#"{"resultCount":1,"results":[\#(record)]}"#.utf8)))
    }

    func respond(_ request: Request) async throws -> Response {
        received.withLock { $0.append("\(request.uri)") }
        guard let answer = answers.withLock({ $0[request.uri.path] }) else { return Response(status: .notFound) }
        try await Task.sleep(for: answer.delay)
        var response = Response(
            status: .init(code: answer.status), body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
        for (name, value) in answer.headers { response.headers[HTTPField.Name(name)!] = value }
        return response
    }

    /// Lends apps whose look-ups go to a store of this test only.
    static func run(
        timeout: Duration = .seconds(30), _ body: @escaping @Sendable (StaffApps, TestStore) async throws -> Void
    ) async throws {
        let store = TestStore()
        let router = Router(context: BasicRequestContext.self)
        router.get("/**") { request, _ in try await store.respond(request) }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: .silent)
        // Runs until the test process ends: cancelling it while a connection comes in would trap
        // (`SimulatorServer.stop`).
        Task { try await application.run() }
        for await number in ports {
            store.port.withLock { $0 = number }
            break
        }
        var settings = StoreSettings()
        settings.lookupURL = try #require(URL(string: store.url + "/lookup"))
        settings.timeout = timeout
        try await StaffApps.run(store: settings) { try await body($0, store) }
    }
}

@Suite(.serialized) struct LookUpAppTests {
    private static func record(icon: String, version: String = "2.10.1", more: String = "") -> String {
        #"""
        {"trackId":310633997,"trackName":"Shop & Co","bundleId":"org.example.shop","version":"\#(version)","releaseNotes":"Faster.\nSmaller.",
         "currentVersionReleaseDate":"2026-10-31T07:00:00Z","artworkUrl100":"\#(icon)","artworkUrl512":"\#(icon)"\#(more)}
        """#
    }

    @Test func `a look-up proposes values, and applies them on request`() async throws {
        try await TestStore.run { apps, store in
            store.answer(record: Self.record(icon: store.url + "/icon.png"))
            store.answer("/icon.png", .init(body: SamplePicture.png, headers: ["content-type": "text/html"]))
            let id = try await apps.make("Working title", more: #","bundleIds":["org.example.shop"]"#)
            let before = try await apps.state()
            let proposed = try await apps.send("POST", "/\(id)/lookup?country=DE")
            #expect(proposed.status == 200 && proposed["found"] == "true" && proposed["applied"] == "[]", "\(proposed)")
            #expect(proposed.string("record.name") == "Shop & Co" && proposed.string("record.storeId") == "310633997")
            #expect(
                proposed.string("record.version") == "2.10.1" && proposed.string("record.notes") == "Faster.\nSmaller.")
            #expect(
                proposed.string("record.releaseDate") == "2026-10-31"
                    && proposed.string("record.iconUrl") == store.url + "/icon.png")
            #expect(try await apps.state() == before)
            #expect(store.requests == ["/lookup?bundleId=org.example.shop&country=de&entity=software"])

            let applied = try await apps.send("POST", "/\(id)/lookup?apply=true&language=en-us")
            #expect(applied["applied"] == #"["name","storeId","bundleId","icon","version"]"#, "\(applied)")
            let app = try await apps.send("GET", "/\(id)")
            #expect(
                app.string("name") == "Shop & Co" && app.string("storeId") == "310633997"
                    && app.string("icon.contentType") == "image/png")
            #expect(app["bundleIds"] == #"["org.example.shop"]"#)
            #expect(try await apps.send("GET", "/\(id)/icon").header("content-type") == "image/png")
            let version = try await apps.send("GET", "/\(id)/versions/2.10.1")
            #expect(
                version.string("state") == "released" && version.string("notes.en-US") == "Faster.\nSmaller."
                    && version.string("releaseDate") == "2026-10-31")
            #expect(
                try await apps.audit().dropFirst() == ["ada update b a", "ada set-icon - a", "ada create-version - a"])

            #expect(
                try await apps.send(
                    "PATCH", "/\(id)/versions/2.10.1", #"{"notes":{"de":"Schneller."},"state":"planned"}"#
                ).status == 200)
            #expect(try await apps.send("POST", "/\(id)/lookup?apply=true").status == 200)
            let again = try await apps.send("GET", "/\(id)/versions/2.10.1")
            #expect(
                again.string("state") == "released" && again.string("notes.de") == "Schneller."
                    && again.string("notes.en") == "Faster.\nSmaller.")
            #expect(
                store.requests.contains("/lookup?id=310633997&country=us&entity=software"),
                "by the store id, now that it is known")
        }
    }

    @Test func `the store's answer is untrusted, and invalid parts are left out`() async throws {
        try await TestStore.run { apps, store in
            let id = try await apps.make("Shop", more: #","storeId":"7""#)
            store.answer(
                record:
                    #"{"trackId":"x","trackName":"\#(String(repeating: "n", count: 500))","bundleId":"a b","version":"two","releaseNotes":7,"artworkUrl512":""}"#
            )
            let applied = try await apps.send("POST", "/\(id)/lookup?apply=true")
            #expect(applied["applied"] == #"["name"]"#, "\(applied)")
            let app = try await apps.send("GET", "/\(id)")
            #expect(app.string("name")?.count == 200 && app.string("storeId") == "7" && app["bundleIds"] == "[]")
            #expect(try await apps.send("GET", "/\(id)/versions")["count"] == "0")
            store.answer("/lookup", .init(body: Array(#"{"resultCount":0,"results":[]}"#.utf8)))
            let none = try await apps.send("POST", "/\(id)/lookup?storeId=8&apply=true")
            #expect(none.status == 200 && none["found"] == "false" && none["record"] == "null", "\(none)")
        }
    }

    @Test func `an icon that is on another host, too large or not a picture is skipped, and the rest is applied`()
        async throws
    {
        try await TestStore.run { apps, store in
            let id = try await apps.make("Shop", more: #","storeId":"7""#)
            store.answer("/large", .init(body: SamplePicture.png + [UInt8](repeating: 0, count: 1 << 20)))
            store.answer("/svg", .init(body: SamplePicture.svg, headers: ["content-type": "image/png"]))
            store.answer("/moved", .init(status: 302, headers: ["location": store.url + "/good"]))
            store.answer("/good", .init(body: SamplePicture.png))
            let port = store.port.withLock { $0 }
            let elsewhere = [
                "http://localhost:\(port)/good", "http://127.0.0.1:\(port + 1)/good", "https://127.0.0.1:\(port)/good",
                "http://user@127.0.0.1:\(port)/good", "file:///etc/passwd",
                "http://is1.mzstatic.com/good", "https://mzstatic.com.example.org/x", "https://evilmzstatic.com/x",
                "https://is1.mzstatic.com:8443/x", "not an address",
            ]
            for url in elsewhere + ["/large", "/svg", "/moved", "/absent"].map({ store.url + $0 }) {
                store.answer(record: Self.record(icon: url))
                let answer = try await apps.send("POST", "/\(id)/lookup?apply=true")
                #expect(answer["applied"] == #"["name","storeId","bundleId","version"]"#, "\(url): \(answer)")
                #expect(try await apps.send("GET", "/\(id)/icon").isProblem(.pictureNotFound), "\(url)")
                #expect(!store.requests.contains("/good"), "\(url)")
                #expect(try await apps.send("PATCH", "/\(id)", #"{"storeId":"7"}"#).status == 200)
            }
        }
    }

    @Test func `a store that is unavailable, slow or answers nonsense changes nothing`() async throws {
        try await TestStore.run { apps, store in
            let id = try await apps.make("Shop", more: #","storeId":"7""#)
            let before = try await apps.state()
            let answers: [TestStore.Answer] = [
                .init(status: 500), .init(status: 302, headers: ["location": store.url + "/other"]),
                .init(body: Array("<html>".utf8)), .init(body: Array("{}".utf8)),
                .init(body: Array(#"{"results":[],"x":"\#(String(repeating: "x", count: 1 << 20))"}"#.utf8)),
                .init(body: Array(repeating: 0x5b, count: 100_000)),
            ]
            for answer in answers {
                store.answer("/lookup", answer)
                let failed = try await apps.send("POST", "/\(id)/lookup?apply=true")
                #expect(failed.isProblem(.upstreamFailed), "\(failed)")
            }
            #expect(!store.requests.contains("/other"))
            #expect(try await apps.state() == before)
        }
        try await TestStore.run(timeout: .milliseconds(200)) { apps, store in
            let id = try await apps.make("Shop", more: #","storeId":"7""#)
            store.answer("/lookup", .init(body: Array("{}".utf8), delay: .seconds(60)))
            #expect(try await apps.send("POST", "/\(id)/lookup").isProblem(.upstreamTimeout))
        }
    }

    @Test func `a look-up needs an id and valid parameters`() async throws {
        try await TestStore.run { apps, store in
            let id = try await apps.make()
            #expect(try await apps.send("POST", "/\(id)/lookup").isProblem(.conflict))
            for (query, field) in [
                ("country=germany", "country"), ("language=english!", "language"), ("apply=1", "apply"),
                ("storeId=x", "storeId"), ("bundleId=a/b", "bundleId"),
                ("url=http://127.0.0.1", "url"),
            ] {
                #expect(
                    try await apps.send("POST", "/\(id)/lookup?\(query)").isProblem(.invalidParameter, field: field),
                    "\(query)")
            }
            #expect(try await apps.send("POST", "/absent/lookup?storeId=1").isProblem(.appNotFound))
            #expect(store.requests == [])
        }
    }
}
