import MartletAPI
import MartletCore

/// Finds out why a request is allowed or refused, by trying it with parts of the rules.
struct RuleExplanation: Sendable {
    /// The rules that can each refuse a request independently of the others.
    private enum Aspect: CaseIterable {
        /// The operation's own rule.
        case rule
        /// The rule for `update`, for a new object in the place of a stored one.
        case replacing
        /// The rules for `get` and `find`, for whoever changes an object.
        case reading
        case lists, addField, hidden

        func operations(_ test: RuleTest) -> [CollectionRules.Operation] {
            switch self {
            case .rule: [test.operation.rule]
            case .replacing: test.operation == .create ? [.update] : []
            case .reading: [.get, .find].filter { $0 != test.operation.rule }
            case .addField: [.addField]
            case .lists, .hidden: []
            }
        }
    }

    private static let everyone = Grantees([.name("*")])
    private static let maximumParts = 20

    let trial: RuleTrial
    let rules: CollectionRules

    /// - Throws: The problem that stops the request if the rules do not, and the errors of `RuleTrial`.
    func verdict() async throws -> RuleTest.Verdict {
        if trial.rights.isClosed {
            return RuleTest.Verdict(
                allowed: false, code: ErrorCode.forbidden.rawValue, nearest: .init(failed: "environment"))
        }
        switch try await trial.run(rules) {
        case .allowed: return RuleTest.Verdict(allowed: true, entry: try await decidingEntry())
        case .stopped(let problem): throw problem
        case .refused(let problem):
            let obstacles = try await obstacles()
            return RuleTest.Verdict(
                allowed: false, code: problem?.code.rawValue, nearest: obstacles.first,
                others: obstacles.count > 1 ? Array(obstacles.dropFirst()) : nil)
        }
    }

    private var operation: CollectionRules.Operation { trial.test.operation.rule }

    /// The first entry that admits the request without the others.
    private func decidingEntry() async throws -> String? {
        guard let grantees = rules.grantees(operation) else { return "no rule" }
        for (number, entry) in grantees.entries.enumerated() {
            let outcome = try await trial.run(rules.replacing(operation, with: Grantees([entry])))
            if outcome.isAllowed { return "rules.\(operation.rawValue).\(number)" }
        }
        return nil
    }

    private func obstacles() async throws -> [RuleTest.Obstacle] {
        guard try await trial.run(relaxed(but: nil), ignoring: .both).isAllowed else {
            return [.init(failed: "object")]
        }
        var obstacles: [RuleTest.Obstacle] = []
        for aspect in Aspect.allCases {
            let outcome = try await trial.run(relaxed(but: aspect), ignoring: aspect == .lists ? .none : .both)
            guard !outcome.isAllowed else { continue }
            switch aspect {
            case .rule, .replacing, .reading: obstacles.append(try await nearest(in: aspect))
            case .lists: obstacles += try await lists()
            case .addField:
                let field = outcome.refusal?.field.map { "new field \($0)" } ?? "who"
                obstacles.append(.init(entry: "rules.addField", failed: field))
            case .hidden: obstacles.append(.init(failed: "hidden.\(outcome.refusal?.field ?? "")"))
            }
        }
        return obstacles
    }

    /// The rules with everything open except for one aspect, or for none.
    private func relaxed(but aspect: Aspect?) -> CollectionRules {
        let kept = Set(aspect?.operations(trial.test) ?? [])
        var relaxed = rules
        for operation in CollectionRules.Operation.allCases where !kept.contains(operation) {
            relaxed = relaxed.replacing(operation, with: Self.everyone)
        }
        if aspect != .hidden { relaxed.hidden = nil }
        return relaxed
    }

    private func lists() async throws -> [RuleTest.Obstacle] {
        let open = relaxed(but: .lists)
        if try await trial.run(open, ignoring: .readers).isAllowed { return [.init(failed: "_readers")] }
        if try await trial.run(open, ignoring: .writers).isAllowed { return [.init(failed: "_writers")] }
        return [.init(failed: "_readers"), .init(failed: "_writers")]
    }

    /// The entry of an aspect's rules with the smallest share of parts that fail.
    private func nearest(in aspect: Aspect) async throws -> RuleTest.Obstacle {
        var nearest: (obstacle: RuleTest.Obstacle, share: Double)?
        for operation in aspect.operations(trial.test) {
            let place = "rules.\(operation.rawValue)"
            guard let grantees = rules.grantees(operation) else {
                if nearest == nil { nearest = (.init(entry: place, failed: "no rule"), 2) }
                continue
            }
            if grantees.entries.isEmpty, nearest == nil { nearest = (.init(entry: place, failed: "empty list"), 2) }
            for (number, entry) in grantees.entries.enumerated() {
                let (failed, share) = try await failure(of: entry, of: operation, aspect)
                guard nearest.map({ share < $0.share }) ?? true else { continue }
                nearest = (.init(entry: "\(place).\(number)", failed: failed), share)
            }
        }
        return nearest?.obstacle ?? .init(failed: "rules")
    }

    /// The first part of an entry that fails, and the share of its parts that do.
    private func failure(
        of entry: Grantees.Entry, of operation: CollectionRules.Operation, _ aspect: Aspect
    ) async throws -> (failed: String, share: Double) {
        guard case .condition(let condition) = entry else { return ("who", 1) }
        let parts = condition.parts.prefix(Self.maximumParts)
        var failed: [String] = []
        for (name, part) in parts {
            var rules = relaxed(but: aspect)
            for other in aspect.operations(trial.test) { rules = rules.replacing(other, with: Grantees([])) }
            rules = rules.replacing(operation, with: Grantees([.condition(part)]))
            if try await !trial.run(rules, ignoring: .both).isAllowed { failed.append(excess(of: part) ?? name) }
        }
        // The parts may refuse the request together although each of them alone allows it.
        guard let first = failed.first else { return ("where", 1 / Double(parts.count + 1)) }
        return (first, Double(failed.count) / Double(parts.count))
    }

    /// The field by which the change exceeds the limits of a part.
    private func excess(of part: RuleCondition) -> String? {
        guard let limits = part.limits else { return nil }
        guard case .fields(let change)? = trial.test.change else { return "fields (a replacement)" }
        let ruleScope = RuleScope(space: trial.space, collection: trial.collection, collections: [:])
        let context = ruleScope.context(of: part, for: trial.rights.identity, .updated)
        return limits.excess(of: change, ignoring: rules.presets?.kept ?? [], context).map { "fields.\($0)" }
    }
}
