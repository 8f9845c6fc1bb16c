import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

/// Who may end an opt-out: the holder of its secret, and the app's own server.
@Suite struct OptOutTests {
    private static let (ann, bob) = ("0193a000-0000-7000-8000-00000000000a", "0193a000-0000-7000-8000-00000000000b")

    private static func secret() -> [String: String] { ["Opt-Out-Secret": Secret.random().withValue { $0 }] }

    private static func ask(
        _ app: AnalyticsApp, _ method: String, _ headers: [String: String] = [:], user: String? = nil
    ) async throws -> Answer {
        try await app.client(method, "/events/opt-out?anonymousId=d1", user: user, headers: headers)
    }

    /// Whether events of the device are dropped.
    private static func dropsEvents(_ app: AnalyticsApp) async throws -> Bool {
        let before = try await app.count("analytics.events")
        try await app.batch(#"{"type":"track","event":"e","anonymousId":"d1"}"#)
        return try await app.count("analytics.events") == before
    }

    @Test
    func `A device's opt-out ends only by its own secret, not by another, without one, or for a signed-in user`()
        async throws
    {
        try await AnalyticsApp.run { app async throws in
            let own = Self.secret()
            #expect(try await Self.ask(app, "PUT", own)["isOptedOut"] == "true")
            #expect(try await Self.ask(app, "PUT", own)["isOptedOut"] == "true")
            for (headers, user) in [([:], nil), (Self.secret(), nil), ([:], Self.bob), (Self.secret(), Self.bob)]
                as [([String: String], String?)]
            {
                #expect(try await Self.ask(app, "DELETE", headers, user: user).isProblem(.forbidden))
            }
            #expect(try await Self.ask(app, "GET")["isOptedOut"] == "true")
            #expect(try await Self.dropsEvents(app))
            #expect(try await Self.ask(app, "DELETE", own)["isOptedOut"] == "false")
            #expect(try await !Self.dropsEvents(app))
            // If there is no opt-out, ending it needs no secret.
            #expect(try await Self.ask(app, "DELETE")["isOptedOut"] == "false")
        }
    }

    @Test func `Opting a device out before its owner, or too often, ends nobody else's opt-out`()
        async throws
    {
        try await AnalyticsApp.run { app async throws in
            let (foreign, own) = (Self.secret(), Self.secret())
            for secret in [foreign, own] { #expect(try await Self.ask(app, "PUT", secret).status == 200) }
            #expect(try await Self.ask(app, "DELETE", foreign)["isOptedOut"] == "true")
            #expect(try await Self.ask(app, "DELETE", foreign).isProblem(.forbidden))
            #expect(try await Self.dropsEvents(app))
            #expect(try await Self.ask(app, "DELETE", own)["isOptedOut"] == "false")
            for _ in 0..<30 { #expect(try await Self.ask(app, "PUT", Self.secret()).status == 200) }
            #expect(try await Self.ask(app, "PUT", own).status == 200)
            #expect(
                try await app.count("analytics.people WHERE cardinality(opt_outs) > \(PeopleStore.maximumOptOuts + 1)")
                    == 0)
            #expect(try await Self.dropsEvents(app))
        }
    }

    @Test func `An opt-out without a secret can be ended only by the app's server`() async throws {
        try await AnalyticsApp.run { app async throws in
            #expect(try await Self.ask(app, "PUT")["isOptedOut"] == "true")
            for headers in [[:], Self.secret()] {
                #expect(try await Self.ask(app, "DELETE", headers).isProblem(.forbidden))
            }
            #expect(try await app.master("DELETE", "/events/opt-out?anonymousId=d1")["isOptedOut"] == "false")
            #expect(try await !Self.dropsEvents(app))
        }
    }

    @Test func `An account's opt-out is separate, and is unchanged if the device's is refused`() async throws {
        try await AnalyticsApp.run { app async throws in
            let own = Self.secret()
            #expect(try await Self.ask(app, "PUT", own, user: Self.ann).status == 200)
            #expect(try await app.client("DELETE", "/events/opt-out", user: Self.bob).status == 200)
            #expect(try await Self.ask(app, "DELETE", Self.secret(), user: Self.ann).isProblem(.forbidden))
            #expect(try await app.client("GET", "/events/opt-out", user: Self.ann)["isOptedOut"] == "true")
            #expect(try await app.client("DELETE", "/events/opt-out", user: Self.ann)["isOptedOut"] == "false")
            #expect(try await Self.ask(app, "GET")["isOptedOut"] == "true", "the opt-out of the device is separate")
        }
    }

    @Test(arguments: ["x", "", String(repeating: "A", count: 42), String(repeating: "!", count: 43)])
    func `An invalid secret is refused, and nothing is written`(_ secret: String) async throws {
        try await AnalyticsApp.run { app async throws in
            for method in ["PUT", "DELETE"] {
                #expect(
                    try await Self.ask(app, method, ["Opt-Out-Secret": secret]).isProblem(
                        .invalidParameter, field: "Opt-Out-Secret"))
            }
            #expect(try await app.count("analytics.people") == 0)
        }
    }
}
