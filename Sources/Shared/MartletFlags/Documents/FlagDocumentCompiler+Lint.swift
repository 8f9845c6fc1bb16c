import MartletCore
import MartletFlagValues

extension FlagDocumentCompiler {
    /// Warns of rules that come after a rule for everyone and so never apply.
    mutating func checkReach(_ rules: [Feature.Rule], _ path: String) {
        guard let last = rules.firstIndex(where: \.isForEverybody), last + 1 < rules.count else { return }
        for index in last + 1..<rules.count {
            warning(
                "unreachable-rule", path.pointer(to: index),
                "Rule \(last + 1) applies to everyone, so this rule never applies.")
        }
    }

    mutating func checkHashing(_ json: JSONValue, _ path: String) {
        for name in ["by", "hashAttribute", "seed", "key"] {
            guard case .string(let text) = json[name], !text.utf8.allSatisfy({ $0 < 0x80 }) else { continue }
            warning(
                "non-ascii-hash", path.pointer(to: name),
                "SDKs in other languages hash non-ASCII text to different buckets.")
        }
        if json["hashVersion"] == nil, json["coverage"] != nil || json["variations"] != nil || json["range"] != nil {
            warning(
                "biased-hash", path,
                "Without \"hashVersion\": 2, buckets are uneven and correlate with those of other rules.")
        }
    }

    /// Warns of unused conditions and groups. Unused conditions are compiled here so that their errors are reported
    /// too.
    mutating func checkNames(_ conditions: [String: JSONValue], _ groups: [String: FlagValue], in document: JSONValue) {
        let used = compiler.conditions.usedNames
        for name in conditions.keys.sorted() where !used.conditions.contains(name) {
            let path = "/conditions".pointer(to: name)
            warning("unused-condition", path, "No rule refers to this condition.")
            _ = compiler.conditions.compileWhen(.string(name), at: path)
        }
        // A group that only an unused condition refers to counts as used.
        for name in groups.keys.sorted() where !compiler.conditions.usedNames.groups.contains(name) {
            warning("unused-group", "/savedGroups".pointer(to: name), "No condition refers to this group.")
        }
    }

    /// Reports rules that depend on a missing flag, and flags that depend on themselves.
    mutating func checkPrerequisites(of set: FeatureSet) {
        let parents = set.features.mapValues { feature in feature.rules.flatMap { $0.prerequisites.map(\.feature) } }
        var finished: Set<String> = []
        for key in set.features.keys.sorted() {
            for parent in parents[key] ?? [] where parents[parent] == nil {
                error(
                    "unknown-flag", "/flags".pointer(to: key).pointer(to: "rules"), "There is no flag named \(parent).")
            }
            if !isAcyclic(key, parents, &finished, depth: 0, path: []) {
                error(
                    "flag-cycle", "/flags".pointer(to: key).pointer(to: "rules"),
                    "This flag depends on itself, or its chain of dependencies is too long.")
            }
        }
    }

    private func isAcyclic(
        _ key: String, _ parents: [String: [String]], _ finished: inout Set<String>, depth: Int, path: [String]
    ) -> Bool {
        if finished.contains(key) { return true }
        guard !path.contains(key), depth < Evaluation.maximumDepth else { return false }
        for parent in parents[key] ?? [] {
            guard isAcyclic(parent, parents, &finished, depth: depth + 1, path: path + [key]) else { return false }
        }
        finished.insert(key)
        return true
    }
}

extension Feature.Rule {
    fileprivate var isForEverybody: Bool {
        guard case .force = action, !isPartial, prerequisites.isEmpty else { return false }
        guard let condition else { return true }
        if case .always = condition.test { return true }
        if case .all(let tests) = condition.test { return tests.isEmpty }
        return false
    }
}
