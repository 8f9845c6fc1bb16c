import Testing

@testable import NotificationsService

struct MailServerLoadTests {
    private let start = ContinuousClock.now

    @Test func `A single server gets at most half of the slots`() {
        var load = MailServerLoad()
        for _ in 0..<MailServerLoad.slotsPerServer { #expect(load.enter("a", at: start) == nil) }
        #expect(load.enter("a", at: start) != nil)
        #expect(load.enter("b", at: start) == nil)
        load.leave("a", didAnswer: true, took: .zero, at: start)
        #expect(load.enter("a", at: start) == nil)
    }

    @Test func `An unresponsive server is paused, twice as long each time, until it answers`() {
        var (load, now, pauses) = (MailServerLoad(), start, [Duration]())
        for _ in 0..<6 {
            #expect(load.enter("dead", at: now) == nil)
            load.leave("dead", didAnswer: false, took: .seconds(1), at: now)
            let pause = load.enter("dead", at: now) ?? .zero
            pauses.append(pause)
            now += pause
        }
        #expect(pauses == [.seconds(15), .seconds(30), .seconds(60), .seconds(120), .seconds(120), .seconds(120)])
        #expect(load.enter("dead", at: now) == nil)
        // One at a time until there is an answer.
        #expect(load.enter("dead", at: now) != nil)
        load.leave("dead", didAnswer: nil, took: .zero, at: now)
        #expect(load.enter("dead", at: now) == nil)
        #expect(load.enter("dead", at: now) != nil)
        load.leave("dead", didAnswer: true, took: .zero, at: now)
        for _ in 0..<MailServerLoad.slotsPerServer { #expect(load.enter("dead", at: now) == nil) }
    }

    @Test func `Several mails that fail at once count as one failure`() {
        var load = MailServerLoad()
        for _ in 0..<4 { #expect(load.enter("a", at: start) == nil) }
        for _ in 0..<4 { load.leave("a", didAnswer: false, took: .zero, at: start) }
        #expect(load.enter("a", at: start) == MailServerLoad.firstPause)
    }

    @Test(arguments: [true, false])
    func `Slow and failing servers share a quarter of the slots, and others get the rest`(isSlow: Bool) {
        var load = MailServerLoad()
        let now = start + .seconds(3_600)
        for number in 0..<20 {
            #expect(load.enter("t\(number)", at: start) == nil)
            load.leave("t\(number)", didAnswer: isSlow, took: isSlow ? .seconds(50) : .seconds(1), at: start)
        }
        let entered = (0..<20).filter { load.enter("t\($0)", at: now) == nil }
        #expect(entered.count == MailServerLoad.slotsForTroubledServers)
        for number in 0..<MailServerLoad.slots - MailServerLoad.slotsForTroubledServers {
            #expect(load.enter("good\(number)", at: now) == nil)
        }
    }

    @Test func `The number of tracked servers is limited`() {
        var load = MailServerLoad()
        for number in 0...MailServerLoad.maximumTroubled {
            #expect(load.enter("t\(number)", at: start + .seconds(number)) == nil)
            load.leave("t\(number)", didAnswer: false, took: .zero, at: start + .seconds(number))
        }
        #expect(load.enter("t0", at: start) == nil)
        #expect(load.enter("t\(MailServerLoad.maximumTroubled)", at: start) != nil)
    }
}
