import Foundation
import MartletAPI
import MartletCore
import MartletFlags

extension ExperimentDocument {
    static let maximumVariations = 20
    static let maximumMetrics = 50
    static let maximumFlags = 50

    private static let members: Set<String> = [
        "title", "description", "state", "appVersion", "configuration", "variations", "coverage", "start", "end",
        "unit", "seed", "condition", "namespace",
        "holdout", "sticky", "phase", "bucketVersion", "minimumBucketVersion", "metrics", "guardRails", "decision",
        "stoppedAt",
    ]

    /// Reads as much of the document as possible; the reader's findings list the errors.
    init(_ json: JSONValue, _ reader: inout DocumentReader) {
        _ = reader.object(json, at: "", known: Self.members)
        title = reader.text(json["title"], at: "/title") ?? ""
        _ = reader.text(json["description"], at: "/description", upTo: 5_000)
        stoppedAt = reader.time(json["stoppedAt"], at: "/stoppedAt")
        state = reader.choice(json["state"], at: "/state") ?? .draft
        readVariations(json, &reader)
        readParticipation(json, &reader)
        readHistory(json, &reader)
        metrics = reader.elements(json["metrics"] ?? .array([]), at: "/metrics", in: 0...Self.maximumMetrics)
            .enumerated()
            .map { Metric($1, at: "/metrics/\($0)", &reader) }
        if Set(metrics.map(\.name)).count < metrics.count {
            reader.error("duplicate", at: "/metrics", "Two metrics have the same name.")
        }
        guardRails = GuardRails(json["guardRails"], &reader)
        readDecision(json["decision"], &reader)
    }

    private mutating func readVariations(_ json: JSONValue, _ reader: inout DocumentReader) {
        configuration = reader.text(json["configuration"], at: "/configuration", upTo: 129)
        if let configuration, !DocumentKey.isName(configuration) {
            reader.error(
                "invalid-name", at: "/configuration",
                "Expected the name of a configuration, such as 1.2.0 or 1.2.0~Dark.")
        }
        appVersion = reader.text(json["appVersion"], at: "/appVersion", upTo: 64)
        if let appVersion, let configuration, configuration.prefix(while: { $0 != "~" }) != appVersion {
            reader.error("conflict", at: "/appVersion", "Expected the app version of the configuration.")
        }
        let elements = reader.elements(json["variations"], at: "/variations", in: 2...Self.maximumVariations)
        variations = elements.enumerated().map {
            Variation($1, at: "/variations/\($0)", count: elements.count, &reader)
        }
        if Set(variations.map(\.key)).count < variations.count {
            reader.error("duplicate", at: "/variations", "Two variations have the same key.")
        }
        if !variations.isEmpty, !Bucketing.isComplete(variations.map(\.weight), of: variations.count) {
            reader.error(
                "weights", at: "/variations",
                "The weights must add up to 1; give a weight to all variations or to none.")
        }
        for (index, variation) in variations.enumerated() where variation.configuration != nil && configuration == nil {
            reader.error(
                "required", at: "/configuration",
                "Variation \(index) has a configuration; name here the configuration that it replaces.")
        }
        if !variations.isEmpty, variations.allSatisfy({ $0.configuration == nil && $0.flags.isEmpty }) {
            reader.error(
                "no-difference", at: "/variations",
                "No variation has a configuration or flags, so there is nothing to test.")
        }
    }

    private mutating func readParticipation(_ json: JSONValue, _ reader: inout DocumentReader) {
        coverage = reader.number(json["coverage"], at: "/coverage", in: 0...1) ?? 1
        start = reader.time(json["start"], at: "/start")
        end = reader.time(json["end"], at: "/end")
        if let start, let end, start >= end {
            reader.error("out-of-range", at: "/end", "Expected a time after the start.")
        }
        unit = reader.choice(json["unit"], at: "/unit") ?? .user
        seed = reader.text(json["seed"], at: "/seed", upTo: 100) ?? ""
        if let value = json["condition"], value != .null {
            var compiler = ConditionCompiler()
            condition = compiler.compile(value, at: "/condition")
            conditionText = value.text
            reader.add(
                compiler.issues.map { Finding($0.isError ? .error : .warning, $0.code, at: $0.path, $0.message) })
        }
        if let value = reader.object(json["namespace"], at: "/namespace", known: ["name", "range"]) {
            let range = reader.elements(value["range"], at: "/namespace/range", in: 2...2)
            let ends = range.enumerated().compactMap { reader.number($1, at: "/namespace/range/\($0)", in: 0...1) }
            exclusion = Exclusion(
                name: reader.name(value["name"], at: "/namespace/name"), start: ends.first ?? 0, end: ends.last ?? 1)
            if ends.count == 2, ends[0] >= ends[1] {
                reader.error("out-of-range", at: "/namespace/range", "The range is empty.")
            }
        }
        if let value = reader.object(json["holdout"], at: "/holdout", known: ["seed", "share"]) {
            holdout = Holdout(
                seed: reader.name(value["seed"], at: "/holdout/seed"),
                share: reader.number(value["share"], at: "/holdout/share", in: 0...0.9) ?? 0)
        }
    }

    private mutating func readHistory(_ json: JSONValue, _ reader: inout DocumentReader) {
        isSticky = reader.flag(json["sticky"], at: "/sticky") ?? true
        phase = reader.integer(json["phase"], at: "/phase", in: 0...1_000) ?? 0
        bucketVersion = reader.integer(json["bucketVersion"], at: "/bucketVersion", in: 0...1_000) ?? 0
        minimumBucketVersion =
            reader.integer(json["minimumBucketVersion"], at: "/minimumBucketVersion", in: 0...1_000) ?? 0
        if minimumBucketVersion > bucketVersion {
            reader.error(
                "out-of-range", at: "/minimumBucketVersion",
                "This must not be greater than bucketVersion, or no one could take part.")
        }
    }

    private mutating func readDecision(_ value: JSONValue?, _ reader: inout DocumentReader) {
        let value = reader.object(value, at: "/decision", known: ["variation", "at"])
        decision = value.map { reader.name($0["variation"], at: "/decision/variation") }
        decidedAt = reader.time(value?["at"], at: "/decision/at")
        if let decision, !variations.contains(where: { $0.key == decision }) {
            reader.error("unknown-variation", at: "/decision/variation", "There is no such variation.")
        }
        if (decision != nil) != (state == .decided) {
            reader.error(
                "conflict", at: "/decision", "decision is required in the state decided and not allowed in any other.")
        }
    }
}

extension ExperimentDocument.Variation {
    init(_ json: JSONValue, at path: String, count: Int, _ reader: inout DocumentReader) {
        let json =
            reader.object(json, at: path, known: ["key", "name", "weight", "configuration", "flags"]) ?? .object([])
        key = reader.name(json["key"], at: path + "/key")
        name = reader.text(json["name"], at: path + "/name") ?? key
        weight = reader.number(json["weight"], at: path + "/weight", in: 0.0001...1) ?? 1 / Double(count)
        if let pin = reader.object(json["configuration"], at: path + "/configuration", known: ["name", "version"]) {
            let name = reader.text(pin["name"], at: path + "/configuration/name", upTo: 129) ?? ""
            if !DocumentKey.isName(name) {
                reader.error(
                    "invalid-name", at: path + "/configuration/name", "Expected the name of a configuration.")
            }
            let version = reader.integer(pin["version"], at: path + "/configuration/version", in: 1...Int(Int32.max))
            if pin["version"] == nil {
                reader.error(
                    "required", at: path + "/configuration/version",
                    "This is required, because a variation refers to a fixed version.")
            }
            configuration = version.map { PinnedVersion(key: DocumentKey(.configuration, name), version: $0) }
        }
        flags = []
        guard let value = json["flags"], value != .null else { return }
        guard case .object(let members) = value, members.count <= ExperimentDocument.maximumFlags else {
            reader.error(
                "wrong-type", at: path + "/flags",
                "Expected an object of at most \(ExperimentDocument.maximumFlags) flags.")
            return
        }
        flags = members
    }
}

extension ExperimentDocument.GuardRails {
    init(_ json: JSONValue?, _ reader: inout DocumentReader) {
        self.init()
        let path = "/guardRails"
        let known: Set<String> = ["minimumUnits", "sampleRatioThreshold", "alpha", "power", "tuning"]
        guard let json = reader.object(json, at: path, known: known) else { return }
        minimumUnits =
            reader.integer(json["minimumUnits"], at: path + "/minimumUnits", in: 2...1_000_000_000) ?? minimumUnits
        sampleRatioThreshold =
            reader.number(json["sampleRatioThreshold"], at: path + "/sampleRatioThreshold", in: 0...0.05)
            ?? sampleRatioThreshold
        alpha = reader.number(json["alpha"], at: path + "/alpha", in: 0.0001...0.5) ?? alpha
        power = reader.number(json["power"], at: path + "/power", in: 0.5...0.999) ?? power
        tuning = reader.number(json["tuning"], at: path + "/tuning", in: 10...1e9) ?? tuning
    }
}
