import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService
@testable import ConfigService

/// Results of experiments across config, which knows the exposures, and analytics, which knows the events.
@Suite struct ConversionTests {
    private static let metrics = """
        [{"name":"bought","event":"buy"},{"name":"spent","kind":"mean","event":"buy","property":"price","covariate":true,"covariateDays":7},
         {"name":"basket","kind":"ratio","event":"buy","property":"price","denominatorEvent":"view"},{"name":"sent","kind":"mean"}]
        """

    private static func experiment(_ unit: String) -> String {
        #"{"title":"T","state":"draft","unit":"\#(unit)","variations":[{"key":"control"},{"key":"dark","flags":{"title":"dark"}}],"metrics":\#(metrics)}"#
    }

    /// A message of Segment's API.
    private static func event(
        _ name: String, _ id: String, says variation: String? = nil, price: String? = nil, at date: Date? = nil
    ) -> String {
        var members = [#""type":"track","event":"\#(name)",\#(id)"#]
        if let variation { members.append(#""context":{"experiments":{"checkout":"\#(variation)"}}"#) }
        if let price { members.append(#""properties":{"price":\#(price)}"#) }
        if let date { members.append(#""timestamp":"\#(date.formatted(.iso8601))""#) }
        return "{" + members.joined(separator: ",") + "}"
    }

    private static func device(_ id: String) -> String { #""anonymousId":"\#(id)""# }

    @Test func `Results combine exposures and counts from analytics, in agreement with a manual count`() async throws {
        try await TwoServices.run { services in
            try await services.start(Self.experiment("device"))
            var given: [String: [String]] = [:]
            for number in 0..<24 {
                given[try await services.expose(device: "d\(number)"), default: []].append("d\(number)")
            }
            let (control, dark) = (try #require(given["control"]), try #require(given["dark"]))
            try #require(control.count >= 3 && dark.count >= 3)
            let before = Date().addingTimeInterval(-2 * 86_400), longBefore = Date().addingTimeInterval(-10 * 86_400)

            // Control: the first buys for 10 and 5 after three views, the second buys nothing, the others send nothing.
            // Dark: the first buys for 7, had bought for 100 two days before, and for 1000 ten days before; the
            // second's price is not a number; the third reports both variations.
            try await services.analytics.batch([
                Self.event("view", Self.device(control[0]), says: "control"),
                Self.event("view", Self.device(control[0]), says: "control"),
                Self.event("view", Self.device(control[0]), says: "control"),
                Self.event("buy", Self.device(control[0]), says: "control", price: "10"),
                Self.event("open", Self.device(control[1]), says: "control"),
                Self.event("buy", Self.device(dark[0]), price: "100", at: before),
                Self.event("buy", Self.device(dark[0]), price: "1000", at: longBefore),
                Self.event("view", Self.device(dark[0]), says: "dark"),
                Self.event("buy", Self.device(dark[1]), says: "dark", price: #""much""#),
                Self.event("buy", Self.device(dark[2]), says: "dark", price: "1"),
                Self.event("buy", Self.device(dark[2]), says: "control", price: "1"),
            ])
            // These events name no variation, but count because they came after one that did. The absurdly large prices
            // are ignored.
            try await services.analytics.batch([
                Self.event("buy", Self.device(control[0]), price: "5"),
                Self.event("buy", Self.device(dark[0]), price: "7"),
                Self.event("buy", Self.device(dark[0]), price: "1e300"),
                Self.event("buy", Self.device(dark[0]), price: "1e50"),
            ])

            let answer = try await services.results()
            #expect(answer.status == 200 && answer["conversions.problem"] == "null", "\(answer)")
            #expect(
                answer["conversions.seen"] == #"{"control":2,"dark":2}"#
                    && answer["conversions.multipleExposures"] == "1", "\(answer)")
            #expect(
                answer["units"] == #"{"control":\#(control.count),"dark":\#(dark.count)}"#
                    && answer["multipleExposures"] == "0")
            func expect(_ metric: String, _ control: String, _ dark: String) async throws {
                #expect(
                    try await services.storedSums(metric)
                        == JSONValue(parsing: #"{"control":{\#(control)},"dark":{\#(dark)}}"#.utf8), "\(metric)")
            }
            let (c, d) = (#""units":\#(control.count),"#, #""units":\#(dark.count),"#)
            try await expect("bought", c + #""sum":1.0"#, d + #""sum":2.0"#)
            try await expect(
                "spent",
                c + #""sum":15.0,"sumOfSquares":225.0,"covariate":{"sum":0.0,"sumOfSquares":0.0},"sumOfProducts":0.0"#,
                d
                    + #""sum":7.0,"sumOfSquares":49.0,"covariate":{"sum":100.0,"sumOfSquares":10000.0},"sumOfProducts":700.0"#
            )
            try await expect(
                "basket",
                c
                    + #""sum":15.0,"sumOfSquares":225.0,"denominator":{"sum":3.0,"sumOfSquares":9.0},"sumOfProducts":45.0"#,
                d + #""sum":7.0,"sumOfSquares":49.0,"denominator":{"sum":1.0,"sumOfSquares":1.0},"sumOfProducts":7.0"#)
            #expect(
                answer["metrics.0.control.mean"] == "\(1 / Double(control.count))"
                    && answer["metrics.2.control.mean"] == "5.0", "\(answer)")
            #expect(answer["metrics.0.variations.0.mean"] == "\(2 / Double(dark.count))" && answer["metrics.3"] == nil)
            #expect(
                answer["guardRails.3.code"] == #""units-seen""# && answer["guardRails.3.met"] == "true", "\(answer)")
            // One of five reported two variations.
            #expect(answer["guardRails.4.met"] == "false" && answer["hint.advice"] == #""distrust""#, "\(answer)")
        }
    }

    @Test func `A user counts once across devices and only from exposure on, and an erased user does not count`()
        async throws
    {
        try await TwoServices.run { services in
            let (ada, ben) = ("0193a000-0000-7000-8000-00000000000a", "0193a000-0000-7000-8000-00000000000b")
            try await services.start(Self.experiment("user"))
            let (adas, bens) = (
                try await services.expose(device: "phone", user: ada),
                try await services.expose(device: "pad", user: ben)
            )
            let again = try await services.expose(device: "desk", user: ada)
            #expect(adas == again)
            // The purchase happened before Ada signed in, on a phone that the second event shows to be hers.
            try await services.analytics.batch([
                Self.event("buy", Self.device("phone"), price: "50", at: Date().addingTimeInterval(-3_600)),
                Self.event("open", #""userId":"\#(ada.uppercased())","anonymousId":"phone""#, says: adas),
            ])
            try await services.analytics.batch([
                Self.event("buy", #""userId":"\#(ada)","anonymousId":"desk""#, says: adas, price: "3"),
                Self.event("buy", Self.device("phone"), price: "4"),
                Self.event("buy", #""userId":"\#(ben)""#, says: bens, price: "20"),
            ])
            func sums(_ metric: String, _ variation: String) async throws -> [String: String] {
                guard case .object(let members)? = try await services.storedSums(metric)[variation] else { return [:] }
                return Dictionary(members.map { ($0.name, $0.value.text) }) { $1 }
            }
            var answer = try await services.results()
            #expect(answer["conversions.multipleExposures"] == "0", "\(answer)")
            let both = adas == bens
            #expect(try await sums("spent", adas)["sum"] == (both ? "27.0" : "7.0"))
            #expect(try await sums("spent", adas)["units"] == (both ? "2" : "1"))
            #expect(try await sums("spent", adas)["covariate"] == #"{"sum":50.0,"sumOfSquares":2500.0}"#)

            let request = UserDataRequest(app: "app1", environment: .live, user: ben)
            _ = try await services.config.service.userData.erase(request)
            var next: String?
            repeat {
                let erased = try await services.analytics.service.userData.erase(
                    UserDataRequest(app: "app1", environment: .live, user: ben, after: next))
                next = erased.next
            } while next != nil
            // With another number of covariate days the cached answer does not apply, so analytics is queried at once.
            let changed = Self.experiment("user").replacing(#""covariateDays":7"#, with: #""covariateDays":8"#)
                .replacing("draft", with: "running")
            try #require(try await services.config.publish(.experiment, "checkout", changed).status == 200)
            answer = try await services.results()
            let left = try await sums("spent", adas)
            #expect(left["sum"] == "7.0" && left["units"] == "1", "\(answer)")
            if !both { #expect(try await sums("spent", bens)["units"] == "0") }
            #expect(answer["units.\(adas)"] == "1", "\(answer)")
        }
    }

    @Test func `After reassignment earlier events do not count, and no events mean no conclusion`()
        async throws
    {
        try await TwoServices.run { services in
            try await services.start(Self.experiment("device"))
            for number in 0..<4 { _ = try await services.expose(device: "d\(number)") }
            var answer = try await services.results()
            #expect(
                answer["conversions.seen"] == #"{"control":0,"dark":0}"# && answer["guardRails.3.met"] == "false",
                "\(answer)")
            #expect(answer["hint.advice"] == #""distrust""#)

            let old = try await services.expose(device: "d0")
            try await services.analytics.batch([Self.event("buy", Self.device("d0"), says: old, price: "9")])
            // Wait until the cached answer expires, after one second.
            try await Task.sleep(for: .milliseconds(1_100))
            let rebucketed = Self.experiment("device").replacing(#""unit""#, with: #""bucketVersion":1,"unit""#)
                .replacing(
                    "draft", with: "running")
            try #require(try await services.config.publish(.experiment, "checkout", rebucketed).status == 200)
            let new = try await services.expose(device: "d1")
            try await services.analytics.batch([Self.event("buy", Self.device("d1"), says: new, price: "2")])
            answer = try await services.results()
            #expect(answer["bucketVersion"] == "1" && answer["conversions.seen.\(new)"] == "1", "\(answer)")
            let sum = try await services.config.postgres.query(
                "SELECT content::jsonb -> \(new) ->> 'sum' FROM config.observations WHERE bucket_version = 1 AND metric = 'spent'"
            )
            #expect(try sum.map { try $0.decode(0, as: String.self) } == ["2.0"])
        }
    }
}
