import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsService
@testable import AnalyticsShared

@Suite struct ClientEventsTests {
    private static let user = "0193a000-0000-7000-8000-00000000000f"

    @Test func `all events of a signed-in user belong to the user, whatever the messages say`() async throws {
        try await AnalyticsApp.run { app async throws in
            let body =
                #"{"batch":[\#(track("a", user: "somebody else")),{"type":"track","event":"b","anonymousId":"d1"}]}"#
            let answer = try await app.client("POST", "/events", body, user: Self.user)
            #expect(answer.status == 200 && answer["accepted"] == "2", "\(answer)")
            let space = try await app.space
            #expect(try await app.events().map(\.person) == [1, 1].map { _ in Person.account(Self.user, in: space) })
        }
    }

    @Test func `without a signed-in user, the device in the header is used unless a message names one`() async throws {
        try await AnalyticsApp.run { app async throws in
            let body =
                #"{"batch":[{"type":"track","event":"a"},{"type":"track","event":"b","anonymousId":"d2"},\#(track("c", user: "u3", #","anonymousId":"d3""#))]}"#
            #expect(try await app.client("POST", "/events", body, headers: ["X-Device-Id": "d1"])["accepted"] == "3")
            let space = try await app.space
            let persons = try await app.events().map(\.person)
            #expect(
                Set(persons) == [
                    Person.device("d1", in: space), Person.device("d2", in: space), Person.account("u3", in: space),
                ])
        }
    }

    @Test func `an ingest key is not accepted, and invalid messages are refused`() async throws {
        try await AnalyticsApp.run { app async throws in
            #expect(try await app.ingest("POST", "/events", #"{"batch":[]}"#).isProblem(.forbidden))
            #expect(try await app.client("POST", "/events", "{}").isProblem(.invalidBody, field: "batch"))
            #expect(try await app.master("POST", "/events", #"{"batch":[\#(track("a"))]}"#)["accepted"] == "1")
        }
    }
}
