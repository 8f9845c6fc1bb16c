import Foundation
import MartletCore
import MartletSentry
import Testing

@Suite struct SessionTests {
    private let received = Date(timeIntervalSince1970: 1_795_338_000)

    @Test(arguments: [
        (#""status":"ok""#, SessionState.healthy), (#""status":"exited""#, .healthy),
        (#""status":"exited","errors":2"#, .errored), (#""status":"crashed","errors":1"#, .crashed),
        (#""status":"abnormal""#, .abnormal), (#""errors":1"#, .errored), (#""status":"unheard-of""#, .healthy),
    ])
    func `A session is read with its status`(_ status: String, _ state: SessionState) throws {
        let update = try #require(
            SessionUpdate(
                try .parse(
                    #"{"sid":"c3f1c2a0-0000-4000-8000-000000000001","did":"u1","init":true,"started":"2026-11-22T08:00:00Z",\#(status),"attrs":{"release":"a@1.0","environment":"prod"}}"#
                ),
                received: received))
        #expect(
            update.state == state && update.person == "u1" && update.attributes.release == "a@1.0"
                && update.attributes.stage == "prod")
        #expect(update.started == received.addingTimeInterval(-3_600))
    }

    @Test(arguments: [
        #"{"sid":"nothing","attrs":{"release":"1"}}"#, #"{"sid":"c3f1c2a0-0000-4000-8000-000000000001"}"#,
        #"{"sid":"c3f1c2a0-0000-4000-8000-000000000001","attrs":{"release":""}}"#, "[]", "5",
    ])
    func `Invalid sessions are ignored`(_ text: String) throws {
        #expect(SessionUpdate(try .parse(text), received: received) == nil)
    }

    @Test(arguments: ["2030-01-01T00:00:00Z", "1999-01-01T00:00:00Z", "never"])
    func `A session with an impossible start begins at the time of receipt`(_ started: String) throws {
        let update = SessionUpdate(
            try .parse(
                #"{"sid":"c3f1c2a0-0000-4000-8000-000000000001","started":"\#(started)","attrs":{"release":"1"}}"#),
            received: received)
        #expect(update?.started == received)
    }

    @Test func `Aggregated sessions are read`() throws {
        let counts = SessionCounts.all(
            try .parse(
                #"{"aggregates":[{"started":"2026-11-22T08:00:00Z","exited":5,"errored":2,"crashed":1},{"started":"2026-11-22T08:01:00Z","did":"u","abnormal":3,"exited":-4}],"attrs":{"release":"1"}}"#
            ),
            received: received)
        #expect(
            counts.map(\.total) == [8, 3] && counts.map(\.crashed) == [1, 0] && counts.map(\.errored) == [2, 0]
                && counts.map(\.abnormal) == [0, 3] && counts.map(\.person) == [nil, "u"])
        #expect(SessionCounts.all(try .parse(#"{"aggregates":[{"exited":5}]}"#), received: received).isEmpty)
    }

    @Test func `Clients report what they dropped`() throws {
        let report = ClientReport(
            try .parse(
                #"{"discarded_events":[{"category":"error","reason":"ratelimit_backoff","quantity":3},{"category":"x","reason":"made up","quantity":1e12},{"category":"error","quantity":0},7]}"#
            ))
        #expect(
            report.counts.map { "\($0.category) \($0.reason) \($0.quantity)" } == [
                "error ratelimit_backoff 3", "default other 1000000",
            ])
    }

    @Test func `User feedback names its crash`() throws {
        let id = "9ec79c33ec9942ab8353589fcb2e04dc"
        let report = try #require(
            UserFeedback(
                userReport: try .parse(#"{"event_id":"\#(id)","name":"Ann","email":"a@b.c","comments":"It broke."}"#),
                eventID: nil))
        #expect(
            report.eventID?.eventID == id && report.id.eventID == id && report.name == "Ann"
                && report.message == "It broke.")
        let feedback = try #require(
            UserFeedback(
                feedback: try .parse(
                    #"{"event_id":"0ec79c33ec9942ab8353589fcb2e04dc","contexts":{"feedback":{"message":"Hm.","contact_email":"a@b.c","associated_event_id":"\#(id)"}}}"#
                ), eventID: nil))
        #expect(feedback.eventID?.eventID == id && feedback.id.eventID.hasPrefix("0ec") && feedback.email == "a@b.c")
        #expect(UserFeedback(userReport: try .parse(#"{"event_id":"\#(id)","comments":""}"#), eventID: nil) == nil)
        #expect(UserFeedback(feedback: try .parse("{}"), eventID: UUID()) == nil)
    }
}
