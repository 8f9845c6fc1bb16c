import Foundation
import HTTPTypes
import MartletCore
import MartletFlags
import MartletHTTP

/// Evaluates flags for a subject: by their rules, or by the running experiments that include the unit.
struct FlagEvaluation: Sendable {
    let live: (document: LiveDocument, flags: FlagDocument)?
    /// The unit's variations.
    let assignments: [Assignment]
    private let context: EvaluationContext
    private let date: Date

    /// - Parameter key: The requested flag; nil for all. The unit counts as exposed to the experiments on the requested
    ///   flags.
    init(
        of key: String? = nil, in space: LiveSpace, for context: EvaluationContext, at date: Date,
        by experiments: Experiments
    ) async {
        live = space.flags
        self.context = context
        self.date = date
        guard let live, !space.documents(of: .experiment).isEmpty else {
            assignments = []
            return
        }
        // A flag that is disabled or missing exposes no one.
        let names = Set(live.flags.flags.filter { $0.isEnabled && (key == nil || $0.key == key) }.map(\.key))
        assignments = await experiments.flags(names, for: context.unit, context.attributes, in: space, at: date)
    }

    /// Nil if there is no such flag.
    func answer(_ key: String) -> FlagAnswer? { live?.flags.evaluate(key, for: context.subject).map(overridden) }

    var answers: [FlagAnswer] { live?.flags.evaluateAll(for: context.subject).map(overridden) ?? [] }

    /// Unchanged as long as the published flags, the context and its variations stay the same and no date in a
    /// condition passes. Computed before any flag is evaluated.
    var tag: EntityTag {
        let period = live?.flags.period(at: date.timeIntervalSince1970) ?? 0
        let given = assignments.map { "\($0.text)#\($0.bucketVersion)\(JSONValue.object($0.flags).text)" }.joined(
            separator: ",")
        let text = "\(live?.document.sha256 ?? "none")\n\(period)\n\(given)\n\(context.identity)"
        return EntityTag(text: Hexadecimal.text(Credential.digest(of: text).prefix(16)))
    }

    private func overridden(_ answer: FlagAnswer) -> FlagAnswer {
        for assignment in assignments {
            guard let value = assignment.flags.first(where: { $0.name == answer.key })?.value else { continue }
            if let other = answer.overridden(by: value, variant: assignment.variation) { return other }
        }
        return answer
    }
}
