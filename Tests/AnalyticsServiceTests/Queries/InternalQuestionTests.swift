import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct InternalQuestionTests {
    private static func post(
        _ app: AnalyticsApp, _ path: String, _ body: some Encodable, as principal: Principal = .service("config")
    ) async throws -> Answer {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        return try await app.gateway.acting(as: principal).send(
            "POST", path, String(decoding: try encoder.encode(body), as: UTF8.self))
    }

    private static let question = ExperimentQuestion(
        appID: "app1", environment: .live, experiment: "checkout", variations: ["control", "dark"], from: 1_777_593_600,
        to: 1_777_680_000,
        metrics: [
            .init(name: "bought", kind: .proportion, event: "buy"),
            .init(name: "spent", kind: .mean, event: "buy", property: "price"),
            .init(name: "basket", kind: .ratio, event: "buy", property: "price", denominatorEvent: "view"),
        ])

    /// Events of 2026-05-01, UTC. Control: person 1 buys for 10 and for 5 after two views; person 2 buys nothing. Dark:
    /// person 3 buys for 7 after one view, and their earlier events do not count. Person 4 was given both variations.
    private static func makeExperiment(_ app: AnalyticsApp) async throws {
        func event(_ minute: Int, _ name: String, _ person: Int, _ variants: String, _ price: String = "") -> TestEvent
        {
            TestEvent("2026-05-01T10:\(10 + minute):00Z", name, person) {
                $0.variants = variants
                $0.properties = price.isEmpty ? "{}" : #"{"price":\#(price)}"#
            }
        }
        try await app.record([
            event(0, "view", 1, "checkout=control"), event(1, "view", 1, "checkout=control, size=b"),
            event(2, "buy", 1, "checkout=control", "10"),
            event(3, "buy", 1, "", "5"), event(0, "open", 2, "a=b, checkout=control"), event(0, "buy", 3, "", "100"),
            event(1, "view", 3, "checkout=dark"),
            event(2, "buy", 3, "checkout=dark", "7"), event(3, "buy", 3, "checkout=dark", #""much""#),
            event(0, "view", 4, "checkout=dark"),
            event(1, "view", 4, "checkout=control"), event(0, "buy", 5, "mycheckout=dark", "1"),
            event(0, "buy", 6, "checkout=darker", "1"),
        ])
    }

    @Test func `Sums over an experiment's units agree with a manual count`() async throws {
        try await AnalyticsApp.run { app in
            try await Self.makeExperiment(app)
            let answer = try await Self.post(app, "/internal/analytics/experiments", Self.question)
            let sums = try JSONDecoder().decode(ExperimentSums.self, from: Data(answer.text.utf8))
            #expect(sums.units == ["control": 2, "dark": 1] && sums.multipleExposures == 1)
            #expect(sums.metrics["bought"] == ["control": .init(units: 2, sum: 1), "dark": .init(units: 1, sum: 1)])
            #expect(
                sums.metrics["spent"] == [
                    "control": .init(units: 2, sum: 15, sumOfSquares: 225),
                    "dark": .init(units: 1, sum: 7, sumOfSquares: 49),
                ])
            #expect(
                sums.metrics["basket"] == [
                    "control": .init(
                        units: 2, sum: 15, sumOfSquares: 225, denominator: .init(sum: 2, sumOfSquares: 4),
                        sumOfProducts: 30),
                    "dark": .init(
                        units: 1, sum: 7, sumOfSquares: 49, denominator: .init(sum: 1, sumOfSquares: 1),
                        sumOfProducts: 7),
                ])
        }
    }

    @Test(arguments: ["1e400", "-1e308", "1e-400"])
    func `An extreme number counts as zero and does not spoil other results`(_ price: String) async throws {
        try await AnalyticsApp.run { app in
            try await Self.makeExperiment(app)
            try await app.record([
                TestEvent("2026-05-01T10:20:00Z", "buy", 3) {
                    $0.variants = "checkout=dark"
                    $0.properties = #"{"price":\#(price)}"#
                }
            ])
            let answer = try await Self.post(app, "/internal/analytics/experiments", Self.question)
            #expect(answer["metrics.spent.dark"] == #"{"sum":7,"sumOfSquares":49,"units":1}"#, "\(answer)")
        }
    }

    @Test func `A covariate is the sum over the days before, and a value with an extreme square counts as zero`()
        async throws
    {
        try await AnalyticsApp.run { app in
            func event(_ day: Int, _ person: Int, _ price: String, _ variants: String = "") -> TestEvent {
                TestEvent("2026-05-\(day < 10 ? "0" : "")\(day)T10:00:00Z", "buy", person) {
                    $0.variants = variants
                    $0.properties = #"{"price":\#(price)}"#
                }
            }
            // The experiment starts on 2026-05-20. Person 1 bought for 3 and 4 in the week before, and for 50 earlier.
            // Person 2 bought before their own first exposure, partly within the experiment's days. Person 3 bought
            // nothing before.
            try await app.record([
                event(10, 1, "50"), event(14, 1, "3"), event(19, 1, "4"), event(20, 1, "10", "checkout=control"),
                event(21, 1, "1"),
                event(15, 2, "100"), event(20, 2, "5"), event(23, 2, "2", "checkout=control"),
                event(23, 3, "1e400", "checkout=dark"),
                event(24, 3, "-1e300"), event(24, 3, "6"),
            ])
            var question = Self.question
            (question.from, question.to) = (1_779_235_200, 1_780_000_000)
            question.metrics = [
                .init(name: "spent", kind: .mean, event: "buy", property: "price", covariateDays: 7),
                .init(name: "bought", kind: .proportion, event: "buy", covariateDays: 7),
            ]
            let answer = try await Self.post(app, "/internal/analytics/experiments", question)
            let sums = try JSONDecoder().decode(ExperimentSums.self, from: Data(answer.text.utf8))
            #expect(sums.units == ["control": 2, "dark": 1] && sums.multipleExposures == 0, "\(answer)")
            // Person 1: 11 in the experiment, 7 (3 and 4) before. Person 2: 2 and 5, as the 100 is eight days before.
            #expect(
                sums.metrics["spent"] == [
                    "control": .init(
                        units: 2, sum: 13, sumOfSquares: 125, covariate: .init(sum: 12, sumOfSquares: 74),
                        sumOfProducts: 87),
                    "dark": .init(
                        units: 1, sum: 6, sumOfSquares: 36, covariate: .init(sum: 0, sumOfSquares: 0), sumOfProducts: 0),
                ], "\(answer)")
            #expect(
                sums.metrics["bought"] == [
                    "control": .init(units: 2, sum: 2, covariate: .init(sum: 2, sumOfSquares: 2), sumOfProducts: 2),
                    "dark": .init(units: 1, sum: 1, covariate: .init(sum: 0, sumOfSquares: 0), sumOfProducts: 0),
                ], "\(answer)")
            for days in [0, 91] {
                question.metrics[0].covariateDays = days
                #expect(
                    try await Self.post(app, "/internal/analytics/experiments", question).isProblem(
                        .invalidBody, field: "metrics"))
            }
        }
    }

    @Test func `An experiment without units has zero sums`() async throws {
        try await AnalyticsApp.run { app in
            let answer = try await Self.post(app, "/internal/analytics/experiments", Self.question)
            #expect(
                answer["units"] == #"{"control":0,"dark":0}"#
                    && answer["metrics.bought.dark"] == #"{"sum":0,"units":0}"#)
        }
    }

    @Test func `Only internal services may ask, and invalid questions are refused`() async throws {
        try await AnalyticsApp.run { app in
            for kind in [Principal.Kind.master, .staff, .client, .ingest] {
                let answers = [
                    try await Self.post(app, "/internal/analytics/experiments", Self.question, as: app.principal(kind)),
                    try await Self.post(app, "/internal/requests", Self.report(), as: app.principal(kind)),
                ]
                #expect(answers.allSatisfy { $0.isProblem(.forbidden) }, "\(answers)")
            }
            var question = Self.question
            question.to = question.from
            #expect(
                try await Self.post(app, "/internal/analytics/experiments", question).isProblem(
                    .invalidBody, field: "to"))
            question = Self.question
            question.metrics[0].denominatorEvent = "x"
            #expect(
                try await Self.post(app, "/internal/analytics/experiments", question).isProblem(
                    .invalidBody, field: "metrics"))
        }
    }

    // MARK: Requests

    private static let minute = Date(
        timeIntervalSince1970: (Date().timeIntervalSince1970 / 60).rounded(.down) * 60 - 600)

    private static func report(_ gateway: UUID = UUID(), _ minute: Date = minute) -> RequestCounts {
        RequestCounts(
            gateway: gateway, minute: minute,
            counts: [
                .init(service: "storage", statusClass: 2, count: 10, microseconds: 5_000),
                .init(service: "storage", statusClass: 5, count: 1, microseconds: 900),
            ])
    }

    @Test func `A gateway's minute counts once, and several gateways are added up`() async throws {
        try await AnalyticsApp.run { app in
            let gateway = UUID()
            for report in [
                Self.report(gateway), Self.report(gateway), Self.report(),
                Self.report(gateway, Self.minute.addingTimeInterval(60)),
            ] {
                #expect(try await Self.post(app, "/internal/requests", report, as: .service("gateway")).status == 204)
            }
            let rights = StaffRights(["*": [.status: [.read]]])
            let answer = try await app.staff("GET", "/admin/requests?interval=minute", rights: rights)
            #expect(answer["count"] == "4", "\(answer)")
            #expect(
                answer["data.0"]
                    == #"{"interval":"\#(Self.minute.formatted(.iso8601))","service":"storage","statusClass":2,"count":20,"averageMicroseconds":500}"#
            )
            let days = try await app.staff("GET", "/admin/requests?interval=day&format=csv", rights: rights)
            #expect(
                days.text.contains(#","storage","2","30","500""#) || days.text.split(separator: "\r\n").count > 3,
                "\(days)")
            #expect(
                try await app.staff("GET", "/admin/requests", rights: StaffRights(["app1": [.analytics: [.read]]]))
                    .isProblem(.forbidden))
            #expect(try await app.master("GET", "/admin/requests").isProblem(.forbidden))
            #expect(
                try await app.staff("GET", "/admin/requests?interval=minute&from=2026-01-01T00:00:00Z", rights: rights)
                    .isProblem(.invalidParameter, field: "from"))
        }
    }

    @Test func `Counts of minutes become counts of hours after two weeks, once`() async throws {
        try await AnalyticsApp.run { app in
            let store = RequestCountStore(postgres: app.postgres)
            let hour = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 / 3_600).rounded(.down) * 3_600)
                .addingTimeInterval(-20 * 86_400)
            try await store.add(Self.report(UUID(), hour))
            try await store.add(Self.report(UUID(), hour))
            try await store.add(Self.report(UUID(), hour.addingTimeInterval(59 * 60)))
            try await store.add(Self.report(UUID(), hour.addingTimeInterval(3_600)))
            try await store.add(Self.report(UUID(), hour.addingTimeInterval(-400 * 86_400)))
            try await store.add(Self.report())
            func rows() async throws -> [String] {
                try await app.postgres.query(
                    """
                    SELECT concat_ws(' ', extract(epoch FROM minute - \(hour))::int / 60, service, status_class, count, microseconds)
                    FROM analytics.request_counts WHERE minute < now() - interval '1 day'
                    ORDER BY minute, service, status_class
                    """
                ).map { try $0.decode(0) }
            }
            func expected(_ minute: Int, times: Int) -> [String] {
                Self.report().counts.map {
                    "\(minute) \($0.service) \($0.statusClass) \($0.count * times) \(Int($0.microseconds) * times)"
                }.sorted()
            }
            // Each run converts at most one day. The first run deletes the row that is too old.
            try await store.prune()
            async let one: Void = store.prune()
            async let other: Void = store.prune()
            _ = try await (one, other)
            try await store.prune()
            #expect(try await rows() == expected(0, times: 3) + expected(60, times: 1))
            let total: Int = try await app.postgres.query(
                "SELECT sum(count)::bigint FROM analytics.request_counts")[0].decode(0)
            #expect(total == Self.report().counts.reduce(0) { $0 + $1.count } * 5, "including the counts of today")
        }
    }

    @Test func `An invalid report is refused, and nothing is written`() async throws {
        try await AnalyticsApp.run { app in
            let bad: [(RequestCounts, ErrorCode)] = [
                (Self.report(UUID(), Self.minute.addingTimeInterval(1)), .invalidBody),
                (Self.report(UUID(), Self.minute.addingTimeInterval(3_600)), .invalidBody),
                (Self.report(UUID(), Self.minute.addingTimeInterval(-8 * 86_400)), .invalidBody),
                (
                    RequestCounts(
                        gateway: UUID(), minute: Self.minute,
                        counts: [.init(service: "", statusClass: 2, count: 1, microseconds: 1)]), .invalidBody
                ),
                (
                    RequestCounts(
                        gateway: UUID(), minute: Self.minute,
                        counts: [.init(service: "a", statusClass: 12, count: 1, microseconds: 1)]), .invalidBody
                ),
                (
                    RequestCounts(
                        gateway: UUID(), minute: Self.minute,
                        counts: [.init(service: "a", statusClass: 2, count: -1, microseconds: 1)]), .invalidBody
                ),
                (
                    RequestCounts(
                        gateway: UUID(), minute: Self.minute,
                        counts: (0..<257).map { .init(service: "s\($0)", statusClass: 2, count: 1, microseconds: 1) }),
                    .limitExceeded
                ),
            ]
            for (report, code) in bad {
                #expect(try await Self.post(app, "/internal/requests", report, as: .service("gateway")).isProblem(code))
            }
            let count: Int = try await app.postgres.query("SELECT count(*) FROM analytics.request_counts")[0].decode(0)
            #expect(count == 0)
        }
    }
}
