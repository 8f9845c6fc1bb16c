import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService
@testable import AnalyticsShared

@Suite struct PersonTests {
    @Test func `a user's id is case-insensitive and differs between spaces`() {
        let one = Space(id: 1, appID: "a", environment: .live), other = Space(id: 2, appID: "a", environment: .test)
        let id = "0193A000-0000-7000-8000-00000000000F"
        #expect(Person.account(id, in: one) == Person.account(id.lowercased(), in: one))
        #expect(Person.account(id, in: one) != Person.account(id, in: other))
        #expect(Person.account("x", in: one) != Person.device("x", in: one))
        #expect(Person.account("Ann", in: one) != Person.account("ann", in: one))
    }

    @Test func `a device's events belong to its account once the account is known`() async throws {
        try await AnalyticsApp.run { app async throws in
            try await app.batch(#"{"type":"track","event":"before","anonymousId":"d1"}"#)
            try await app.batch(#"{"type":"identify","userId":"u1","anonymousId":"d1"}"#)
            try await app.batch(#"{"type":"track","event":"after","anonymousId":"d1"}"#)
            // A different user's sign-in on the same device concerns only that user.
            try await app.batch(#"{"type":"track","event":"other","userId":"u2","anonymousId":"d1"}"#)
            try await app.batch(#"{"type":"track","event":"later","anonymousId":"d1"}"#)
            let space = try await app.space
            let persons = Dictionary(
                uniqueKeysWithValues: try await app.events().compactMap { event in event.name.map { ($0, event.person) }
                })
            let (device, account) = (Person.device("d1", in: space), Person.account("u1", in: space))
            #expect(
                persons == [
                    "before": device, "after": account, "other": Person.account("u2", in: space), "later": account,
                ])
            #expect(
                try await app.count("analytics.people WHERE person = \(Int(device)) AND account = \(Int(account))") == 1
            )
        }
    }

    @Test func `an alias belongs to the account from then on`() async throws {
        try await AnalyticsApp.run { app async throws in
            _ = try await app.ingest("POST", "/segment/v1/alias", #"{"userId":"u1","previousId":"d1"}"#)
            try await app.batch(
                #"{"type":"track","event":"a","anonymousId":"d1"}"#, #"{"type":"track","event":"b","userId":"d1"}"#)
            let account = Person.account("u1", in: try await app.space)
            #expect(try await app.events().map(\.person) == [account, account, account])
        }
    }

    @Test func `only the app's own server can link an alias to an existing user`() async throws {
        try await AnalyticsApp.run { app async throws in
            let (user, other) = ("0193a000-0000-7000-8000-00000000000f", "0193a000-0000-7000-8000-000000000001")
            let alias = #"{"type":"alias","userId":"\#(other)","previousId":"\#(user)"}"#
            try await app.batch(alias)
            _ = try await app.client("POST", "/events", #"{"batch":[\#(alias)]}"#, user: other)
            try await app.batch(track("a", user: user))
            let space = try await app.space
            let persons = [user, other].map { Person.account($0, in: space) }
            #expect(try await app.events().first { $0.name == "a" }?.person == persons[0])
            #expect(try await app.master("POST", "/events", #"{"batch":[\#(alias)]}"#)["accepted"] == "1")
            try await app.batch(track("b", user: user))
            #expect(try await app.events().first { $0.name == "b" }?.person == persons[1])
        }
    }

    @Test func `a device with several sign-ins in one batch belongs to the first account`() async throws {
        try await AnalyticsApp.run { app async throws in
            let messages = (0..<30).flatMap { device in
                (0..<3).map { #"{"type":"identify","userId":"u\#(($0 + device) % 7)","anonymousId":"d\#(device)"}"# }
            }
            _ = try await app.ingest("POST", "/segment/v1/batch", #"{"batch":[\#(messages.joined(separator: ","))]}"#)
            let space = try await app.space
            for device in 0..<30 {
                let (person, account) = (
                    Person.device("d\(device)", in: space), Person.account("u\(device % 7)", in: space)
                )
                #expect(try await app.count("analytics.people WHERE person = \(person) AND account = \(account)") == 1)
            }
        }
    }

    @Test func `several statements about a person in a batch are merged`() async throws {
        try await AnalyticsApp.run { app async throws in
            let messages = (0..<500).map {
                #"{"type":"identify","userId":"u1","traits":{"n":\#($0),"n\#($0 % 3)":\#($0)}}"#
            }
            _ = try await app.ingest("POST", "/segment/v1/batch", #"{"batch":[\#(messages.joined(separator: ","))]}"#)
            let traits = try await app.postgres.query("SELECT traits::text FROM analytics.people").map {
                try $0.decode(0, as: String.self)
            }
            #expect(traits == [#"{"n": 499, "n0": 498, "n1": 499, "n2": 497}"#])
        }
    }

    @Test func `traits are merged, and the latest statement wins, whatever the order of arrival`() async throws {
        try await AnalyticsApp.run { app async throws in
            let now = Date()
            func identify(_ traits: String, _ ago: Double) -> String {
                #"{"type":"identify","userId":"u1","traits":\#(traits),"timestamp":"\#((now - ago).ISO8601Format(.init(includingFractionalSeconds: true)))"}"#
            }
            try await app.batch(identify(#"{"a":1,"b":1}"#, 100), identify(#"{"b":2,"c":2}"#, 50))
            try await app.batch(identify(#"{"c":0,"d":0}"#, 200))
            // As rudder's client sends it.
            try await app.batch(#"{"type":"identify","userId":"u1","context":{"traits":{"e":5}}}"#)
            let traits = try await app.postgres.query("SELECT traits::text FROM analytics.people").map {
                try $0.decode(0, as: String.self)
            }
            #expect(traits == [#"{"a": 1, "b": 2, "c": 2, "d": 0, "e": 5}"#])
            let large = String(repeating: "x", count: 20_000)
            try await app.batch(identify(#"{"large":"\#(large)"}"#, 10))
            try await app.batch(identify(#"{"larger":"\#(large)"}"#, 5))
            #expect(try await app.count("analytics.people WHERE traits ? 'large' AND NOT traits ? 'larger'") == 1)
        }
    }

    @Test func `a visitor without an id is one person for a day, by address and agent, neither of which is stored`()
        async throws
    {
        try await AnalyticsApp.run { app async throws in
            func send(_ address: String, _ agent: String) async throws {
                try await app.batch(
                    #"{"type":"track","event":"a"}"#, headers: ["X-Martlet-Address": address, "User-Agent": agent])
            }
            try await send("0:ffff7f000001", "Safari")
            try await send("0:ffff7f000001", "Safari")
            try await send("0:ffff7f000001", "Firefox")
            try await send("0:ffff7f000002", "Safari")
            let persons = try await app.events().map(\.person)
            #expect(Set(persons).count == 3 && !persons.contains(Person.nobody))
            // Tomorrow's salt is different.
            try await app.postgres.execute("UPDATE analytics.salts SET day = day - 3")
            try await app.service.events.salts.expire()
            #expect(try await app.count("analytics.salts") == 0)
            let (known, other) = (
                try await app.service.events.salts.salt(at: Date()),
                try await Salts(postgres: app.postgres).salt(at: Date())
            )
            #expect(known != other)
        }
    }

    @Test func `under strict privacy nobody is recognized the next day, and nothing is stored about them`() async throws
    {
        try await AnalyticsApp.run { app async throws in
            #expect(try await app.master("PUT", "/analytics/settings", #"{"privacy":"strict"}"#).status == 200)
            try await app.batch(
                track("a"), track("b"), track("c", user: "u2"),
                #"{"type":"identify","userId":"u1","anonymousId":"d1","traits":{"a":1}}"#)
            let events = try await app.events()
            let persons = Dictionary(events.map { ($0.name ?? "identify", $0.person) }) { $1 }
            #expect(persons["a"] == persons["b"] && persons["a"] == persons["identify"] && persons["a"] != persons["c"])
            let account = Person.account("u1", in: try await app.space)
            #expect(persons["a"] != account)
            #expect(try await app.count("analytics.people") == 0)
        }
    }

    static let unfollowed: [(String, [String: String])] = [
        (#","context":{"device":{"adTrackingEnabled":false}}"#, [:]), ("", ["DNT": "1"]), ("", ["Sec-GPC": "1"]),
        (#","context":{"locale":"de_CH"}"#, ["DNT": "1"]),
    ]

    @Test(arguments: unfollowed)
    func `a visitor who asks not to be tracked is counted, and is another person the next day`(
        _ more: String, _ headers: [String: String]
    ) async throws {
        try await AnalyticsApp.run { app async throws in
            let identify = #"{"type":"identify","userId":"u1","anonymousId":"d1","traits":{"a":1}\#(more)}"#
            try await app.batch(track("a", more), track("b", more), identify, headers: headers)
            try await app.batch(track("c", #","context":{"device":{"adTrackingEnabled":true}}"#), headers: ["DNT": "0"])
            let persons = Dictionary(try await app.events().map { ($0.name ?? "identify", $0.person) }) { $1 }
            let account = Person.account("u1", in: try await app.space)
            #expect(
                persons["a"] == persons["b"] && persons["a"] == persons["identify"] && persons["a"] != account
                    && persons["c"] == account)
            #expect(try await app.count("analytics.people") == 0)
        }
    }

    @Test func `switching to strict privacy deletes traits`() async throws {
        try await AnalyticsApp.run { app async throws in
            try await app.batch(#"{"type":"identify","userId":"u1","traits":{"name":"Ann"}}"#)
            #expect(try await app.master("PUT", "/analytics/settings", #"{"privacy":"strict"}"#).status == 200)
            try await EventDaysTests.sweep(app.service.events.days)
            #expect(try await app.count("analytics.people WHERE traits <> '{}'") == 0)
        }
    }

    @Test func `nothing is recorded about persons who opted out, from any device or account`() async throws {
        try await AnalyticsApp.run { app async throws in
            let user = "0193a000-0000-7000-8000-00000000000f"
            #expect(try await app.client("PUT", "/events/opt-out", user: user).status == 200)
            #expect(try await app.client("PUT", "/events/opt-out?anonymousId=d1").status == 200)
            // A new device of the user, and another user on the device.
            try await app.batch(
                #"{"type":"identify","userId":"\#(user)","anonymousId":"d2"}"#,
                #"{"type":"identify","userId":"u2","anonymousId":"d1","traits":{"name":"Bea"}}"#)
            #expect(try await app.count("analytics.events") == 0)
            #expect(try await app.count("analytics.people WHERE account <> 0 OR traits <> '{}'") == 0)
            #expect(try await app.count("analytics.people") == 2)
        }
    }

    @Test func `a consent manager's choices are respected`() async throws {
        try await AnalyticsApp.run { app async throws in
            let refused = #","context":{"consent":{"categoryPreferences":{"Advertising":true,"Analytics":false}}}"#
            let agreed = #","context":{"consent":{"categoryPreferences":{"Advertising":false,"Analytics":true}}}"#
            #expect(try await app.batch(track("no", refused), track("yes", agreed))["accepted"] == "2")
            #expect(try await app.events().map(\.name) == ["yes"])
        }
    }

    @Test func `events of persons who opted out are dropped until they opt in`() async throws {
        try await AnalyticsApp.run { app async throws in
            let user = "0193a000-0000-7000-8000-00000000000f"
            #expect(try await app.client("PUT", "/events/opt-out").isProblem(.invalidParameter, field: "anonymousId"))
            #expect(try await app.ingest("PUT", "/events/opt-out?anonymousId=d1").isProblem(.forbidden))
            try await app.batch(#"{"type":"identify","userId":"\#(user)","traits":{"name":"Ann"}}"#)
            #expect(try await app.client("GET", "/events/opt-out", user: user)["isOptedOut"] == "false")
            let secret = ["Opt-Out-Secret": Secret.random().withValue { $0 }]
            let answer = try await app.client(
                "PUT", "/events/opt-out", user: user, headers: secret.merging(["X-Device-Id": "d1"]) { $1 })
            #expect(answer.status == 200 && answer["isOptedOut"] == "true" && answer["since"] != nil, "\(answer)")
            try await app.batch(
                track("a", user: user), #"{"type":"track","event":"b","anonymousId":"d1"}"#,
                track("c", user: "other", #","anonymousId":"d1""#),
                #"{"type":"identify","userId":"\#(user)","traits":{"name":"Bea"}}"#, track("d", user: "other"))
            #expect(try await app.events().map(\.name) == [nil, "d"])
            #expect(try await app.count("analytics.people WHERE traits <> '{}' OR account <> 0") == 0)
            #expect(try await app.client("GET", "/events/opt-out?anonymousId=d1")["isOptedOut"] == "true")
            #expect(
                try await app.client("DELETE", "/events/opt-out?anonymousId=d1", user: user, headers: secret)[
                    "isOptedOut"] == "false")
            try await app.batch(track("e", user: user))
            #expect(try await app.events().map(\.name) == [nil, "d", "e"])
        }
    }
}
