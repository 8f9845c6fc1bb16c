import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import ConfigService

@Suite struct ExposureTests {
    private static let user = "0193a000-0000-7000-8000-00000000000a"

    private static func rows(_ app: ConfigApp) async throws -> Int {
        try await app.postgres.query("SELECT count(*) FROM config.exposures")[0].decode(0)
    }

    @Test func `An exposure is recorded once by all instances together`() async throws {
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            let space = TestExperiment.space(try TestExperiment.compiled()),
                store = ExposureStore(postgres: app.postgres)
            let copies = (0..<2).map { _ in
                Experiments(
                    exposures: store, log: ExposureLog(store: store, logger: .silent), logger: .silent,
                    now: { Date() })
            }
            for copy in copies {
                for number in 0..<100 {
                    for _ in 0..<3 {
                        #expect(
                            await copy.configuration("1.2.0", for: TestExperiment.device(number), [:], in: space) != nil
                        )
                    }
                }
                #expect(await copy.configuration("1.3.0", for: TestExperiment.device(1), [:], in: space) == nil)
                await copy.log.flush()
            }
            #expect(try await Self.rows(app) == 100)
            let count = try await store.count("checkout", bucketVersion: 0, in: space.space)
            #expect(count.units.values.reduce(0, +) == 100 && count.units.count == 2 && count.multiple == 0)
            #expect(try await store.count("checkout", bucketVersion: 1, in: space.space) == ExposureStore.Count())
        }
    }

    @Test func `The background task writes by itself`() async throws {
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            let space = TestExperiment.space(try TestExperiment.compiled())
            #expect(
                await app.service.experiments.configuration("1.2.0", for: TestExperiment.device(1), [:], in: space)
                    != nil)
            try await eventually("exposures are written") { try await Self.rows(app) > 0 }
        }
    }

    @Test func `Flags of an experiment count as exposures, in the control as well`() async throws {
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            let changes =
                #"{"configuration":null,"variations":[{"key":"control"},{"key":"on","flags":{"new-checkout":true}}]}"#
            let space = TestExperiment.space(try TestExperiment.compiled("checkout", changes))
            var given: [String: Int] = [:]
            for number in 0..<100 {
                let assignments = await app.service.experiments.flags(
                    ["new-checkout", "x"], for: TestExperiment.device(number), [:], in: space, at: Date())
                #expect(assignments.map(\.flags.count) == [assignments.first?.variation == "on" ? 1 : 0])
                given[assignments.first?.variation ?? "", default: 0] += 1
                #expect(
                    await app.service.experiments.flags(
                        ["x"], for: TestExperiment.device(number + 1_000), [:], in: space, at: Date()
                    ).isEmpty)
            }
            await app.service.experiments.log.flush()
            #expect(
                try await app.service.experiments.exposures.count("checkout", bucketVersion: 0, in: space.space).units
                    == given)
        }
    }

    @Test func `A unit with two variations belongs to neither and is counted`() async throws {
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            let store = ExposureStore(postgres: app.postgres)
            func exposure(_ unit: String, _ variation: String) -> (Exposure, Date) {
                let seconds = unit == "b" ? 1_777_600_000.5 : 1_777_600_001
                return (
                    Exposure(
                        space: app.space, experiment: "e", bucketVersion: 0, variation: variation,
                        unit: ExposureStore.unit(.user, unit)),
                    Date(timeIntervalSince1970: seconds)
                )
            }
            try await store.add([
                exposure("a", "x"), exposure("a", "y"), exposure("b", "x"), exposure("c", "x"), exposure("d", "y"),
            ])
            let expected = ExposureStore.Count(
                units: ["x": 2, "y": 1], multiple: 1, since: Date(timeIntervalSince1970: 1_777_600_000.5))
            #expect(try await store.count("e", bucketVersion: 0, in: app.space) == expected)
        }
    }

    @Test func `In a later phase a unit keeps its variation, even on an instance that never saw it`() async throws {
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            let first = TestExperiment.space(try TestExperiment.compiled()), experiments = app.service.experiments
            var given: [String?] = []
            for number in 0..<60 {
                given.append(
                    await experiments.configuration("1.2.0", for: TestExperiment.device(number), [:], in: first)?
                        .variation)
            }
            await experiments.log.flush()
            let changes =
                #"{"phase":1,"variations":[{"key":"control","weight":0.01},{"key":"dark","weight":0.99,"configuration":{"name":"1.2.0~Dark","version":1}}]}"#
            let later = TestExperiment.space(try TestExperiment.compiled("checkout", changes))
            let copy = Experiments(
                exposures: experiments.exposures, log: ExposureLog(store: experiments.exposures, logger: .silent),
                logger: .silent, now: experiments.now)
            var kept: [String?] = [], new: [String?] = []
            for number in 0..<60 {
                kept.append(
                    await copy.configuration("1.2.0", for: TestExperiment.device(number), [:], in: later)?.variation)
                new.append(
                    await copy.configuration("1.2.0", for: TestExperiment.device(number + 1_000), [:], in: later)?
                        .variation)
            }
            #expect(kept == given && Set(given) == ["control", "dark"])
            #expect(new.count { $0 == "dark" } >= 55)
        }
    }

    @Test func `A user's exposures are exported and erased, and no one else's`() async throws {
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            let space = TestExperiment.space(try TestExperiment.compiled("checkout", #"{"unit":"user"}"#)),
                experiments = app.service.experiments
            for user in [Self.user, "0193a000-0000-7000-8000-00000000000b"] {
                #expect(
                    await experiments.configuration("1.2.0", for: ExperimentUnit(userID: user), [:], in: space) != nil)
            }
            await experiments.log.flush()
            let holder = app.service.userData,
                request = UserDataRequest(app: "app1", environment: .live, user: Self.user)
            let portion = try await holder.export(request)
            #expect(portion.next == nil)
            #expect(
                String(buffer: portion.lines).hasPrefix(#"{"service":"config","kind":"exposure","data":{"#)
                    && String(buffer: portion.lines).contains("checkout"))
            #expect(
                try await holder.erase(UserDataRequest(app: "app1", environment: .test, user: Self.user))
                    == UserErasure())
            #expect(try await holder.erase(request) == UserErasure(erased: ["exposures": 1]))
            #expect(try await holder.erase(request) == UserErasure())
            #expect(try await Self.rows(app) == 1)
            #expect(String(buffer: try await holder.export(request).lines).isEmpty)
            await #expect(throws: ServiceError.self) {
                try await holder.erase(UserDataRequest(app: "app1", environment: .live, user: "x"))
            }
            await #expect(throws: ServiceError.self) {
                try await holder.export(UserDataRequest(app: "app1", environment: .live, user: Self.user, after: "-1"))
            }
        }
    }

    @Test func `Exposures waiting in another instance while a user is erased are not written later`() async throws {
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            let space = TestExperiment.space(try TestExperiment.compiled("checkout", #"{"unit":"user"}"#)),
                store = ExposureStore(postgres: app.postgres)
            let copy = Experiments(
                exposures: store, log: ExposureLog(store: store, logger: .silent), logger: .silent,
                now: { Date() })
            let other = "0193a000-0000-7000-8000-00000000000b"
            for user in [Self.user, other] {
                #expect(await copy.configuration("1.2.0", for: ExperimentUnit(userID: user), [:], in: space) != nil)
            }
            let holder = app.service.userData,
                request = UserDataRequest(app: "app1", environment: .live, user: Self.user)
            #expect(try await holder.erase(request) == UserErasure())
            await copy.log.flush()
            #expect(try await Self.rows(app) == 1)
            #expect(try await store.export(user: other, in: space.space, after: 0, limit: 10).count == 1)

            // A statement that had begun before; its row is removed by the next cleaning.
            try await app.database.withSuperuser { client in
                _ = try await client.execute(
                    """
                    INSERT INTO config.exposures (app_id, environment, experiment, bucket_version, unit, variation, first_seen)
                    SELECT app_id, environment, 'checkout', 0, unit, 'dark', now() FROM config.erased_units
                    """)
            }
            await copy.log.clean()
            #expect(try await Self.rows(app) == 1)
            // After a week nothing is waiting any more, and the erasure is forgotten.
            try await app.database.withSuperuser {
                _ = try await $0.execute("UPDATE config.erased_units SET erased = now() - interval '8 days'")
            }
            await copy.log.clean()
            #expect(try await app.postgres.query("SELECT FROM config.erased_units").isEmpty)
        }
    }

    @Test func `While the database is unavailable answers continue, and exposures are written later`() async throws {
        try await ConfigApp.run(kinds: TestExperiment.kinds) { app in
            let space = TestExperiment.space(try TestExperiment.compiled()), experiments = app.service.experiments
            try await app.database.withSuperuser {
                _ = try await $0.execute("REVOKE INSERT ON config.exposures FROM martlet_config")
            }
            #expect(await experiments.configuration("1.2.0", for: TestExperiment.device(1), [:], in: space) != nil)
            await experiments.log.flush()
            try await app.database.withSuperuser {
                _ = try await $0.execute("GRANT INSERT ON config.exposures TO martlet_config")
            }
            await experiments.log.flush()
            try await eventually("exposures are written") { try await Self.rows(app) > 0 }
        }
    }
}
