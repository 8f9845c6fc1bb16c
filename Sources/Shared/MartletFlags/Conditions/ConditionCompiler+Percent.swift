import MartletCore
import MartletFlagValues

extension ConditionCompiler {
    /// Compiles `{"seed": …, "to": 10, "from": 0, "by": "id", "hash": "sha256"}`: the share of subjects between two
    /// percentages.
    ///
    /// Without `hash`, GrowthBook's version 2 applies (`from` ≤ position < `to`); with `sha256`, Firebase's (`from` <
    /// position ≤ `to`).
    mutating func percentTest(_ json: JSONValue, _ path: String) -> Condition.Test {
        guard case .object(let members) = json else {
            return refuse("invalid-condition", path, "Expected an object, found \(json.phrase).")
        }
        for member in members where !["seed", "from", "to", "by", "hash"].contains(member.name) {
            log.error("unknown-field", at: path.pointer(to: member.name), "This field is unknown.")
        }
        let from = percent(json["from"], path.pointer(to: "from"))
        let to = percent(json["to"], path.pointer(to: "to"))
        let attribute = text(json["by"], path.pointer(to: "by")) ?? "id"
        let seed = text(json["seed"], path.pointer(to: "seed"))
        guard from ?? 0 <= to ?? 100 else {
            return refuse("invalid-percent", path, "from must not be greater than to.")
        }
        switch text(json["hash"], path.pointer(to: "hash")) {
        case nil:
            guard let seed, !seed.isEmpty else {
                return refuse("missing-field", path, "A seed is required; it makes this share independent of others.")
            }
            return .percent(
                PercentTest(
                    attribute: attribute, seed: seed, share: .range(BucketRange((from ?? 0) / 100, (to ?? 100) / 100))))
        case "sha256":
            let share = PercentTest.Share.firebase(above: from.map(Self.microPercent), upTo: to.map(Self.microPercent))
            return .percent(PercentTest(attribute: attribute, seed: seed ?? "", share: share))
        default: return refuse("invalid-percent", path.pointer(to: "hash"), "The hash must be sha256 or absent.")
        }
    }

    private static func microPercent(_ percent: Double) -> Int { Int((percent * 1_000_000).rounded()) }

    private mutating func percent(_ json: JSONValue?, _ path: String) -> Double? {
        guard let json else { return nil }
        if case .number(let literal) = json, let number = Double(literal), (0...100).contains(number) { return number }
        log.error("invalid-percent", at: path, "Expected a percentage from 0 to 100, found \(json.phrase).")
        return nil
    }

    private mutating func text(_ json: JSONValue?, _ path: String) -> String? {
        guard let json else { return nil }
        if case .string(let text) = json { return text }
        log.error("wrong-type", at: path, "Expected a string, found \(json.phrase).")
        return nil
    }
}
