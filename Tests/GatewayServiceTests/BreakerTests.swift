import NIOCore
import Testing

@testable import GatewayService

@Suite struct BreakerTests {
    @Test func `A breaker opens after consecutive failures, probes, and closes on success`() {
        var breaker = Breaker()
        var now = NIODeadline.uptimeNanoseconds(0)
        for _ in 0..<Breaker.threshold {
            #expect(breaker.allowsRequest(at: now))
            breaker.begin(at: now)
            breaker.end(.failure, at: now)
        }
        #expect(!breaker.allowsRequest(at: now))
        now = now + Breaker.firstPause
        #expect(breaker.allowsRequest(at: now))
        breaker.begin(at: now)
        #expect(!breaker.allowsRequest(at: now), "one probe at a time")
        breaker.end(.failure, at: now)
        now = now + Breaker.firstPause
        #expect(!breaker.allowsRequest(at: now), "the pause doubles")
        now = now + Breaker.firstPause
        breaker.begin(at: now)
        breaker.end(.success, at: now)
        for _ in 0..<3 { #expect(breaker.allowsRequest(at: now)) }
    }

    @Test func `A success between failures restarts a breaker's count`() {
        var breaker = Breaker()
        let now = NIODeadline.uptimeNanoseconds(0)
        for round in 0..<20 {
            breaker.begin(at: now)
            breaker.end(round % 4 == 3 ? .success : .failure, at: now)
        }
        #expect(breaker.allowsRequest(at: now))
    }

    @Test func `Failures of requests that were in progress when a breaker opened do not extend its pause`() {
        var breaker = Breaker()
        let now = NIODeadline.uptimeNanoseconds(0)
        for _ in 0..<Breaker.threshold + 10 { breaker.begin(at: now) }
        for _ in 0..<Breaker.threshold + 10 { breaker.end(.failure, at: now) }
        #expect(!breaker.allowsRequest(at: now))
        #expect(breaker.allowsRequest(at: now + Breaker.firstPause))
    }

    @Test func `A stream admitted as a probe does not block other probes until it ends`() {
        var breaker = Breaker()
        var now = NIODeadline.uptimeNanoseconds(0)
        for _ in 0..<Breaker.threshold {
            breaker.begin(at: now)
            breaker.end(.failure, at: now)
        }
        now = now + Breaker.firstPause
        breaker.begin(at: now)
        #expect(!breaker.allowsRequest(at: now))
        breaker.answered()
        for _ in 0..<3 { #expect(breaker.allowsRequest(at: now)) }
    }

    @Test func `A breaker lets another probe through if the first is not answered quickly`() {
        var breaker = Breaker()
        var now = NIODeadline.uptimeNanoseconds(0)
        for _ in 0..<Breaker.threshold {
            breaker.begin(at: now)
            breaker.end(.failure, at: now)
        }
        now = now + Breaker.firstPause
        breaker.begin(at: now)
        #expect(!breaker.allowsRequest(at: now))
        now = now + Breaker.probeTime
        #expect(breaker.allowsRequest(at: now))
        breaker.begin(at: now)
        #expect(!breaker.allowsRequest(at: now), "one at a time")
        breaker.end(.success, at: now)
        #expect(breaker.allowsRequest(at: now))
    }
}
