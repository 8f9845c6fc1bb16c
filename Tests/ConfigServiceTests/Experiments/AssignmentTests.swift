import Foundation
import MartletFlags
import MartletStatistics
import Testing

@testable import ConfigService

@Suite struct AssignmentTests {
    @Test(arguments: [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    func `Units are split by weight, and each keeps its variation`(weights: [Double]) throws {
        let variations = #"[{"key":"a","weight":\#(weights[0])},{"key":"b","weight":\#(weights[1]),"flags":{"x":1}}]"#
        let space = TestExperiment.space(try TestExperiment.compiled("checkout", #"{"variations":\#(variations)}"#))
        let given = space.variations(of: 0..<20_000)
        let counts = ["a", "b"].map { key in given.count { $0["checkout"] == key } }
        #expect(counts.reduce(0, +) == 20_000)
        #expect(sampleRatioP(counts: counts, weights: weights) > 0.001, "\(counts)")
        #expect(given == space.variations(of: 0..<20_000))
    }

    @Test func `More coverage moves no unit`() throws {
        let few = TestExperiment.space(try TestExperiment.compiled("checkout", #"{"coverage":0.2}"#)).variations(
            of: 0..<5_000)
        let many = TestExperiment.space(try TestExperiment.compiled("checkout", #"{"coverage":0.8}"#)).variations(
            of: 0..<5_000)
        let counts = (few.count { !$0.isEmpty }, many.count { !$0.isEmpty })
        #expect((900...1_100).contains(counts.0) && (3_850...4_150).contains(counts.1), "\(counts)")
        #expect(zip(few, many).allSatisfy { $0.isEmpty || $0 == $1 })
    }

    @Test func `No unit is in two experiments of a namespace, but many are in several without one`() throws {
        let first = try TestExperiment.compiled("one", #"{"namespace":{"name":"checkout","range":[0,0.5]}}"#)
        let second = try TestExperiment.compiled("two", #"{"namespace":{"name":"checkout","range":[0.5,1]}}"#)
        let apart = TestExperiment.space(first, second).variations(of: 0..<4_000)
        #expect(apart.allSatisfy { $0.count == 1 })
        #expect((1_850...2_150).contains(apart.count { $0["one"] != nil }))

        let together = TestExperiment.space(try TestExperiment.compiled("one"), try TestExperiment.compiled("two"))
            .variations(of: 0..<4_000)
        #expect(together.allSatisfy { $0.count == 2 })
        // Independent of each other: half of the units have the same variation in both.
        #expect((1_850...2_150).contains(together.count { $0["one"] == $0["two"] }))
    }

    @Test func `A unit that is held out is held out of every experiment with that holdout`() throws {
        let holdout = #"{"holdout":{"seed":"2026","share":0.1}}"#
        let given = TestExperiment.space(
            try TestExperiment.compiled("one", holdout), try TestExperiment.compiled("two", holdout)
        ).variations(of: 0..<5_000)
        #expect(given.allSatisfy { $0.isEmpty || $0.count == 2 })
        #expect((430...570).contains(given.count { $0.isEmpty }))
    }

    @Test(
        arguments: [
            ("2026-11-20T00:00:00Z", nil, true), ("2026-11-22T00:00:00Z", nil, true),
            ("2026-11-22T00:00:01Z", nil, false),
            (nil, "2026-11-22T00:00:00Z", false), (nil, "2026-11-22T00:00:01Z", true), (nil, nil, true),
        ] as [(String?, String?, Bool)])
    func `Units get variations only within the period`(start: String?, end: String?, isIn: Bool) throws {
        let bounds = [("start", start), ("end", end)].compactMap { name, time in time.map { #""\#(name)":"\#($0)""# } }
            .joined(separator: ",")
        let space = TestExperiment.space(try TestExperiment.compiled("checkout", "{\(bounds)}"))
        let now = try Date("2026-11-22T00:00:00Z", strategy: .iso8601)
        #expect(space.variations(of: 0..<50, at: now).allSatisfy { $0.isEmpty != isIn })
    }

    @Test(arguments: ["draft", "stopped"])
    func `An experiment that is not running assigns nothing`(state: String) throws {
        #expect(
            TestExperiment.space(try TestExperiment.compiled("checkout", #"{"state":"\#(state)"}"#)).variations(
                of: 0..<50
            ).allSatisfy { $0.isEmpty })
    }

    @Test func `Conditions and the app version decide who takes part`() throws {
        let german = TestExperiment.space(try TestExperiment.compiled("checkout", #"{"condition":{"country":"DE"}}"#))
        #expect(german.variations(of: 0..<20, ["country": .string("DE")]).allSatisfy { $0.count == 1 })
        #expect(german.variations(of: 0..<20, ["country": .string("FR")]).allSatisfy { $0.isEmpty })
        let flags = #"{"configuration":null,"appVersion":"2.0","variations":[{"key":"a"},{"key":"b","flags":{"x":1}}]}"#
        let version = TestExperiment.space(try TestExperiment.compiled("checkout", flags))
        #expect(version.variations(of: 0..<20, ["appVersion": .string("2.0")]).allSatisfy { $0.count == 1 })
        #expect(version.variations(of: 0..<20).allSatisfy { $0.isEmpty })
    }

    @Test(arguments: [("user", "u1", nil), ("device", nil, "d1")] as [(String, String?, String?)])
    func `Experiments hash users or devices, and units without such an id take no part`(
        unit: String, user: String?, device: String?
    ) throws {
        let space = TestExperiment.space(try TestExperiment.compiled("checkout", #"{"unit":"\#(unit)"}"#))
        let assignments = space.assignments(for: ExperimentUnit(userID: user, deviceID: device), [:], at: Date())
        #expect(assignments.map(\.unitID) == ["\(unit.prefix(1))1"])
        #expect(space.assignments(for: ExperimentUnit(userID: device, deviceID: user), [:], at: Date()).isEmpty)
        #expect(
            space.assignments(
                for: ExperimentUnit(userID: "", deviceID: String(repeating: "x", count: 129)), [:], at: Date()
            ).isEmpty)
    }

    @Test func `An assignment names the version and the flag values to serve instead`() throws {
        let space = TestExperiment.space(try TestExperiment.compiled())
        let assignments = (0..<50).flatMap { space.assignments(for: TestExperiment.device($0), [:], at: Date()) }
        for assignment in assignments {
            let pinned =
                assignment.variation == "dark"
                ? PinnedVersion(key: DocumentKey(.configuration, "1.2.0~Dark"), version: 1) : nil
            #expect(assignment.configuration == "1.2.0" && assignment.pinned == pinned)
        }
        #expect(Set(assignments.map(\.text)) == ["checkout=control", "checkout=dark"])
    }

    /// Weights that change in a later phase, like GrowthBook's sticky buckets.
    @Test func `In a later phase units keep their variations, and new ones follow the new weights`() throws {
        let later =
            #"{"phase":1,"variations":[{"key":"control","weight":0.01},{"key":"dark","weight":0.99,"flags":{"x":1}}]}"#
        let space = TestExperiment.space(try TestExperiment.compiled("checkout", later))
        let unit = TestExperiment.device(1)
        func variation(_ history: [String: [Int: String]]?) -> String? {
            space.assignments(for: unit, [:], at: Date(), history: history).first?.variation
        }
        #expect(variation(["checkout": [0: "control"]]) == "control" && variation(["checkout": [0: "dark"]]) == "dark")
        #expect(variation([:]) == "dark")
        #expect(variation(["checkout": [0: "gone"]]) == "dark", "the variation no longer exists")
        // The history could not be read.
        #expect(variation(nil) == nil)
    }

    @Test func `A higher bucket version reassigns units, and a higher minimum excludes earlier ones`() throws {
        let weights = #""variations":[{"key":"control","weight":0.01},{"key":"dark","weight":0.99,"flags":{"x":1}}]"#
        let rebucketed = TestExperiment.space(
            try TestExperiment.compiled("checkout", #"{"phase":1,"bucketVersion":1,\#(weights)}"#))
        let unit = TestExperiment.device(1), former = ["checkout": [0: "control"]]
        let assignment = rebucketed.assignments(for: unit, [:], at: Date(), history: former).first
        #expect(assignment?.variation == "dark" && assignment?.bucketVersion == 1)
        let shut = TestExperiment.space(
            try TestExperiment.compiled("checkout", #"{"bucketVersion":1,"minimumBucketVersion":1,\#(weights)}"#))
        #expect(shut.assignments(for: unit, [:], at: Date(), history: former).isEmpty)
        #expect(shut.assignments(for: unit, [:], at: Date(), history: [:]).count == 1)
    }
}
