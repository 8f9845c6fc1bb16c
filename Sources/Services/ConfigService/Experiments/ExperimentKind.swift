import Foundation
import MartletAPI
import MartletCore
import MartletFlags

/// A/B tests as documents.
///
/// Only `start`, `stop` and `decide` change an experiment's state: what is published otherwise leaves it as it is.
struct ExperimentKind: PublishedKind {
    let maximumSizeInBytes = 256 << 10

    func problem(withName name: String) -> String? { name.contains("~") ? "An experiment's name has no ~ in it." : nil }

    func check(_ document: JSONValue, named name: String, in space: LiveSpace) -> [Finding] {
        let (experiment, findings) = Self.read(document)
        let live = space[DocumentKey(.experiment, name)]?.compiled as? CompiledExperiment
        let state = live?.document.state ?? .draft
        guard experiment.state == state else {
            let message = "The experiment is \(state.rawValue). Use its calls start, stop and decide: they publish."
            return findings + [Finding(.error, "state-changed", at: "/state", message)]
        }
        return findings + Self.relations(of: experiment, named: name, in: space)
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

    /// What runs, or was decided, elsewhere is not so here: the state is that of the experiment that is here, or draft.
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

    /// What of an experiment does not go with what is live.
    static func relations(of experiment: ExperimentDocument, named name: String, in space: LiveSpace) -> [Finding] {
        var moved: [Finding] = []
        if let old = (space[DocumentKey(.experiment, name)]?.compiled as? CompiledExperiment)?.document,
            old.state != .draft, old.state != .decided,
            experiment.state == .running || experiment.state == .stopped
        {
            // Stopped and started again it goes on with the same units.
            moved = changes(from: old, to: experiment)
        }
        guard experiment.state == .running else { return moved }
        var findings = moved
        findings += tested(by: experiment, in: space)
        findings +=
            experiment.metrics.isEmpty
            ? [Finding(.warning, "no-metrics", at: "/metrics", "There is nothing to judge the variations by.")] : []
        for document in space.documents(of: .experiment) {
            guard let other = document.compiled as? CompiledExperiment else { continue }
            if other.name != name, other.document.state == .running, experiment.overlaps(other.document) {
                let message =
                    "The experiment \(other.name) runs on the same configuration or flags: give both a namespace of one name, with ranges apart."
                findings.append(Finding(.error, "overlapping-experiments", at: "/namespace", message))
            }
        }
        return findings
    }

    /// What the variations are served instead of has to be there, and of their type.
    private static func tested(by experiment: ExperimentDocument, in space: LiveSpace) -> [Finding] {
        var findings: [Finding] = []
        if let name = experiment.configuration, space[DocumentKey(.configuration, name)] == nil {
            let message = "No configuration \(name) is live: nobody is given a variation of it until one is."
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
                            "No flag of this name is live: the variation changes nothing."))
                } else if let answer, answer.reason != .disabled,
                    answer.overridden(by: flag.value, variant: variation.key) == nil
                {
                    findings.append(
                        Finding(.error, "wrong-type", at: path, "The flag answers a \(answer.kind.rawValue)."))
                }
            }
        }
        return findings
    }

    /// Who is in keeps their variation: what would move them is refused until the document says what is to become of
    /// them.
    private static func changes(from old: ExperimentDocument, to new: ExperimentDocument) -> [Finding] {
        guard new.bucketVersion <= old.bucketVersion else { return [] }
        var findings: [Finding] = []
        func refuse(_ code: String, _ path: String, _ message: String) {
            findings.append(Finding(.error, code, at: path, message))
        }
        if new.bucketVersion < old.bucketVersion {
            refuse("lowered", "/bucketVersion", "This may only grow while the experiment runs.")
        }
        if new.phase < old.phase { refuse("lowered", "/phase", "This may only grow while the experiment runs.") }
        let anew = "Raise bucketVersion, so that all are assigned anew and results begin anew."
        if new.variations.map(\.key) != old.variations.map(\.key) {
            refuse("fixed-while-running", "/variations", "Variations stay while the experiment runs. " + anew)
        }
        if new.unit != old.unit {
            refuse("fixed-while-running", "/unit", "The unit stays while the experiment runs. " + anew)
        }
        if new.seed != old.seed {
            refuse("fixed-while-running", "/seed", "The seed stays while the experiment runs. " + anew)
        }
        if new.assignsOthers(than: old), new.phase == old.phase || !new.isSticky {
            refuse(
                "moves-units", "/phase",
                "Units that are in would move. Raise phase (and leave sticky on), so that they keep their variation. Or: "
                    + anew)
        }
        if zip(new.variations, old.variations).contains(where: {
            $0.configuration != $1.configuration || $0.flags != $1.flags
        }) {
            findings.append(
                Finding(
                    .warning, "variation-changed", at: "/variations",
                    "Results mix what a variation was before with what it is now."))
        }
        return findings
    }
}

/// A published experiment.
struct CompiledExperiment: Sendable {
    let name: String
    let document: ExperimentDocument
    let experiment: Experiment
    /// See `ExperimentDocument.id(of:from:)`.
    var id: String

    init(name: String, document: ExperimentDocument, experiment: Experiment) {
        self.name = name
        self.document = document
        self.experiment = experiment
        id = name
    }
}

/// A document with errors.
struct Unreadable: Error, CustomStringConvertible {
    let finding: Finding

    var description: String { "\(finding.path): \(finding.message)" }
}

extension ExperimentDocument {
    /// Whether a unit may get something of both.
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

    /// Whether a unit that `old` gives a variation may get another or none. More coverage moves nobody.
    fileprivate func assignsOthers(than old: ExperimentDocument) -> Bool {
        variations.map(\.weight) != old.variations.map(\.weight) || coverage < old.coverage
            || conditionText != old.conditionText
            || exclusion != old.exclusion || holdout != old.holdout || appVersion != old.appVersion
            || (old.isSticky && !isSticky && old.phase > 0)
    }
}
