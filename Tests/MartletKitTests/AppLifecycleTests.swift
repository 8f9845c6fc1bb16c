import Foundation
import Testing

@testable import MartletKit

struct AppLifecycleTests {
    @Test func `a refresh in the background sends what waits, loads what is new and runs the sync`() async throws {
        let transport = ScriptedTransport { request, _ in
            request.url.path.hasSuffix("/remote")
                ? HTTPResponse(200, ["mainSettings": ["rows": 14]]) : HTTPResponse(200, [:])
        }
        let martlet = try Martlet.scripted(transport)
        martlet.analytics.consent = .granted
        martlet.analytics.track("Opened")
        let seen = Locked<[JSON]>([])
        martlet.notifications.onSync { data in
            seen.withLock { $0.append(data) }
            return true
        }
        #expect(await martlet.refreshInBackground())
        #expect(martlet.remote.setting("rows", default: 0) == 14)
        #expect(seen.withLock { $0 } == [[:]])
        let calls = transport.sent.map(\.url.lastPathComponent)
        #expect(Set(calls).isSuperset(of: ["events", "remote", "evaluate"]))
    }

    @Test func `a background refresh returns when the system's time limit is reached, even while sending continues`()
        async throws
    {
        let (gate, opener) = AsyncStream<Void>.makeStream()
        let transport = ScriptedTransport { _, _ in
            for await _ in gate {}
            throw MartletError(.notConnected, "")
        }
        let martlet = try Martlet.scripted(transport, change: { $0.retries = .never })
        martlet.analytics.consent = .granted
        martlet.analytics.track("Opened")
        let refresh = Task { await martlet.refreshInBackground() }
        try await eventually("something is sent") { !transport.sent.isEmpty }
        refresh.cancel()
        #expect(await refresh.value == false)
        opener.finish()
    }

    @Test func `a screen gets each value and then the error, and none when it is closed`() async throws {
        let (values, feed) = AsyncThrowingStream<Int, any Error>.makeStream()
        feed.yield(1)
        feed.yield(2)
        feed.finish(throwing: MartletError(.forbidden, ""))
        let (shown, failures) = (Locked<[Int]>([]), Locked<[MartletError.Code?]>([]))
        await values.follow(
            show: { value in shown.withLock { $0.append(value) } },
            fail: { error in failures.withLock { $0.append((error as? MartletError)?.code) } })
        #expect(shown.withLock { $0 } == [1, 2] && failures.withLock { $0 } == [.forbidden])

        let (open, feedOfOpen) = AsyncThrowingStream<Int, any Error>.makeStream()
        let following = Task {
            await open.follow(show: { _ in }, fail: { _ in failures.withLock { $0.append(nil) } })
        }
        following.cancel()
        await following.value
        feedOfOpen.finish()
        #expect(failures.withLock { $0 } == [.forbidden])
    }
}
