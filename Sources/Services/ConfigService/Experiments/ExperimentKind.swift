import Foundation
import MartletAPI
import MartletCore
import MartletFlags

/// A/B tests as documents.
///
/// Only `start`, `stop` and `decide` change an experiment's state; any other publication keeps it.
struct ExperimentKind: PublishedKind {
    let maximumSizeInBytes = 256 << 10

    func problem(withName name: String) -> String? {
        name.contains("~") ? "The name of an experiment must not contain ~." : nil
    }

    func check(_ document: JSONValue, named name: String, in space: LiveSpace) -> [Finding] {
        let (experiment, findings) = Self.read(document)
        let live = space[DocumentKey(.experiment, name)]?.compiled as? CompiledExperiment
        let state = live?.document.state ?? .draft
        guard experiment.state == state else {
            let message =
                "The experiment is \(state.rawValue). Change its state only with the calls start, stop and decide, which publish it."
            return findings + [Finding(.error, "state-changed", at: "/state", message)]
        }
        return findings + Self.conflicts(of: experiment, named: name, in: space)
    }

    func compile(_ document: JSONValue, named name: String) throws -> any Sendable {
        let (experiment, findings) = Self.read(document)
        if let error = findings.first(where: { $0.severity == .error }) { throw Unreadable(finding: error) }
        return CompiledExperiment(name: name, document: experiment, experiment: experiment.experiment(named: name))
    }

    func pins(_ document: JSONValue) -> [PinnedVersion] {
        let (experiment, _) = Self.read(document)
        return experiment.state == .running ? Array(Set(experiment.variations.compactMap(\.configuration))) : []
    }

    /// The state is not transferred between spaces: it stays that of the experiment here, or draft.
    func transferred(_ content: JSONValue, onto live: JSONValue?) -> JSONValue {
        content.merging(
            .object([
                .init("state", live?["state"] ?? .string(ExperimentDocument.State.draft.rawValue)),
                .init("stoppedAt", live?["stoppedAt"] ?? .null),
                .init("decision", live?["decision"] ?? .null),
            ]))
    }

    static func read(_ document: JSONValue) -> (ExperimentDocument, [Finding]) {
        var reader = DocumentReader()
        let experiment = ExperimentDocument(document, &reader)
        return (experiment, reader.findings)
    }

    /// The conflicts between an experiment and what is live.
    static func conflicts(of experiment: ExperimentDocument, named name: String, in space: LiveSpace) -> [Finding] {
        var moved: [Finding] = []
        if let old = (space[DocumentKey(.experiment, name)]?.compiled as? CompiledExperiment)?.document,
            old.state != .draft, old.state != .decided,
            experiment.state == .running || experiment.state == .stopped
        {
            // A stopped experiment that is started again continues with the same units.
            moved = changes(from: old, to: experiment)
        }
        guard experiment.state == .running else { return moved }
        var findings = moved
        findings += tested(by: experiment, in: space)
        findings +=
            experiment.metrics.isEmpty
            ? [Finding(.warning, "no-metrics", at: "/metrics", "There are no metrics to compare the variations by.")]
            : []
        for document in space.documents(of: .experiment) {
            guard let other = document.compiled as? CompiledExperiment else { continue }
            if other.name != name, other.document.state == .running, experiment.overlaps(other.document) {
                let message =
                    "The experiment \(other.name) runs on the same configuration or flags. Give both a namespace with the same name and disjoint ranges."
                findings.append(Finding(.error, "overlapping-experiments", at: "/namespace", message))
            }
        }
        return findings
    }

    /// Checks that the tested configuration and flags are live and have the right type.
    private static func tested(by experiment: ExperimentDocument, in space: LiveSpace) -> [Finding] {
        var findings: [Finding] = []
        if let name = experiment.configuration, space[DocumentKey(.configuration, name)] == nil {
            let message = "No configuration named \(name) is live, so nobody gets a variation of it yet."
            findings.append(Finding(.warning, "unknown-configuration", at: "/configuration", message))
        }
        for (index, variation) in experiment.variations.enumerated() {
            for flag in variation.flags {
                let path = "/variations/\(index)/flags/" + JSONPointer.escape(flag.name)
                let answer = space.flags?.flags.evaluate(flag.name, for: Subject(FlagAttributes()))
                if answer == nil {
                    findings.append(
                        Finding(
                            .warning, "unknown-flag", at: path,
                            "No flag with this name is live, so the variation changes nothing."))
                } else if let answer, answer.reason != .disabled,
                    answer.overridden(by: flag.value, variant: variation.key) == nil
                {
                    findings.append(
                        Finding(
                            .error, "wrong-type", at: path,
                            "The value must have the flag's type, \(answer.kind.rawValue)."))
                }
            }
        }
        return findings
    }

    /// Participants keep their variation: changes that would move them are refused until the document says how to
    /// handle them.
    private static func changes(from old: ExperimentDocument, to new: ExperimentDocument) -> [Finding] {
        guard new.bucketVersion <= old.bucketVersion else { return [] }
        var findings: [Finding] = []
        func refuse(_ code: String, _ path: String, _ message: String) {
            findings.append(Finding(.error, code, at: path, message))
        }
        if new.bucketVersion < old.bucketVersion {
            refuse("lowered", "/bucketVersion", "This must not decrease while the experiment runs.")
        }
        if new.phase < old.phase { refuse("lowered", "/phase", "This must not decrease while the experiment runs.") }
        let restartHint = "Raise bucketVersion to reassign all units and restart the results."
        if new.variations.map(\.key) != old.variations.map(\.key) {
            refuse(
                "fixed-while-running", "/variations",
                "Variations cannot change while the experiment runs. " + restartHint)
        }
        if new.unit != old.unit {
            refuse("fixed-while-running", "/unit", "The unit cannot change while the experiment runs. " + restartHint)
        }
        if new.seed != old.seed {
            refuse("fixed-while-running", "/seed", "The seed cannot change while the experiment runs. " + restartHint)
        }
        if new.mayMoveUnits(from: old), new.phase == old.phase || !new.isSticky {
            refuse(
                "moves-units", "/phase",
                "This would move participating units. Raise phase (and keep sticky on) so that they keep their variation, or: "
                    + restartHint)
        }
        if zip(new.variations, old.variations).contains(where: {
            $0.configuration != $1.configuration || $0.flags != $1.flags
        }) {
            findings.append(
                Finding(
                    .warning, "variation-changed", at: "/variations",
                    "Results will mix the variation's old content with the new one."))
        }
        return findings
    }
}

/// A published experiment.
struct CompiledExperiment: Sendable {
    let name: String
    let document: ExperimentDocument
    let experiment: Experiment
    /// The condition in the form that devices evaluate; nil if only the server can, or if no flag is tested.
    let localCondition: JSONValue?
    /// See `ExperimentDocument.id(of:from:)`.
    var id: String

    init(name: String, document: ExperimentDocument, experiment: Experiment) {
        self.name = name
        self.document = document
        self.experiment = experiment
        localCondition = document.variations.allSatisfy(\.flags.isEmpty) ? nil : document.localCondition
        id = name
    }
}

/// An error for a document that has error findings.
struct Unreadable: Error, CustomStringConvertible {
    let finding: Finding

    var description: String { "\(finding.path): \(finding.message)" }
}

extension ExperimentDocument {
    fileprivate var localCondition: JSONValue? {
        guard let condition = try? JSONValue(parsing: conditionText.utf8) else { return nil }
        var conditions = LocalConditions()
        let resolved = conditions.resolve(condition, at: "")
        return conditions.refusals.isEmpty ? resolved : nil
    }

    /// Whether a unit may be affected by both experiments.
    fileprivate func overlaps(_ other: ExperimentDocument) -> Bool {
        let flags = Set(variations.flatMap(\.flags).map(\.name)),
            otherFlags = Set(other.variations.flatMap(\.flags).map(\.name))
        guard (configuration != nil && configuration == other.configuration) || !flags.isDisjoint(with: otherFlags)
        else { return false }
        if let end, let start = other.start, end <= start { return false }
        if let start, let end = other.end, end <= start { return false }
        guard let mine = exclusion, let others = other.exclusion, mine.name == others.name, unit == other.unit else {
            return true
        }
        return mine.start < others.end && others.start < mine.end
    }

    /// Whether a unit with a variation under `old` may get another one or none. Higher coverage moves no one.
    fileprivate func mayMoveUnits(from old: ExperimentDocument) -> Bool {
        variations.map(\.weight) != old.variations.map(\.weight) || coverage < old.coverage
            || conditionText != old.conditionText
            || exclusion != old.exclusion || holdout != old.holdout || appVersion != old.appVersion
            || (old.isSticky && !isSticky && old.phase > 0)
    }
}
