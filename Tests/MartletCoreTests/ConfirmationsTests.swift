import MartletCore
import Testing

@Suite struct ConfirmationsTests {
    @Test func `each key has a limit for each second`() {
        let now = ContinuousClock.now
        var confirmations = Confirmations<String>()
        func count(_ key: String, at time: ContinuousClock.Instant) -> Int {
            (0..<100).filter { _ in confirmations.take(for: key, at: time) }.count
        }
        let counts = [count("a", at: now), count("b", at: now), count("a", at: now + .seconds(2))]
        #expect(counts == [20, 20, 20])
    }
}
