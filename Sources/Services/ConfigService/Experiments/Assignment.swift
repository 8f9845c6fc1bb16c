import Foundation
import MartletAPI
import MartletCore
import MartletFlags

/// Who asks, as far as experiments tell units apart.
struct ExperimentUnit: Sendable, Hashable {
    static let maximumLengthInBytes = 128

    /// The end user's id.
    var userID: String?
    /// What the app says its device or installation is called; one that is empty or longer than 128 bytes counts as
    /// none.
    var deviceID: String?

    init(userID: String? = nil, deviceID: String? = nil) {
        self.userID = Self.checked(userID)
        self.deviceID = Self.checked(deviceID)
    }

    subscript(unit: ExperimentDocument.Unit) -> String? { unit == .user ? userID : deviceID }

    private static func checked(_ id: String?) -> String? {
        // One spelling of an id is one unit.
        id.flatMap {
            (1...maximumLengthInBytes).contains($0.utf8.count)
                ? UUID(uuidString: $0)?.uuidString.lowercased() ?? $0 : nil
        }
    }
}

/// The variation that a unit gets of an experiment.
struct Assignment: Sendable {
    let experiment: String
    /// What exposures call it.
    let experimentID: String
    let bucketVersion: Int
    let variation: String
    let unit: ExperimentDocument.Unit
    /// Of the unit.
    let unitID: String
    /// The configuration that is tested; nil: none.
    let configuration: String?
    /// What is served instead of its live version; nil: nothing else.
    let pinned: PinnedVersion?
    /// What flags answer instead.
    let flags: [JSONValue.Member]

    /// As answers and the header `Experiments` carry it.
    var text: String { experiment + "=" + variation }
}

extension LiveSpace {
    /// The experiments that run at a moment, by name.
    func runningExperiments(at date: Date) -> [CompiledExperiment] {
        documents(of: .experiment).compactMap { live in
            guard var compiled = live.compiled as? CompiledExperiment, compiled.document.isRunning(at: date) else {
                return nil
            }
            compiled.id = ExperimentDocument.id(of: compiled.name, from: live.firstVersion)
            return compiled
        }
    }

    /// What a unit gets of every experiment that runs, the same in every copy: hashed from its id and, in those with a
    /// later phase, from what it was given before.
    ///
    /// - Parameters:
    ///   - attributes: what conditions look at; `userId` and `deviceId` are added.
    ///   - history: experiment's id → what the unit was given, by bucket version; without, experiments that need it
    ///     leave the unit out.
    func assignments(
        for unit: ExperimentUnit, _ attributes: FlagAttributes, at date: Date, history: [String: [Int: String]]? = nil
    ) -> [Assignment] {
        var attributes = attributes
        for kind in ExperimentDocument.Unit.allCases { attributes[kind.attribute] = unit[kind].map { .string($0) } }
        return runningExperiments(at: date).compactMap { compiled in
            guard let id = unit[compiled.document.unit], history != nil || !compiled.document.needsHistory else {
                return nil
            }
            guard compiled.document.isMeant(attributes) else { return nil }
            return compiled.assignment(of: id, attributes, history: history?[compiled.id] ?? [:])
        }
    }
}

extension CompiledExperiment {
    fileprivate func assignment(of id: String, _ attributes: FlagAttributes, history: [Int: String]) -> Assignment? {
        var subject = Subject(attributes)
        if document.needsHistory {
            let assignments = history.filter { document.isSticky || $0.key < document.minimumBucketVersion }
            subject.sticky = StickyBuckets([
                StickyBuckets.Document(
                    attributeName: document.unit.attribute, attributeValue: id,
                    assignments: Dictionary(
                        assignments.map { (StickyBuckets.assignmentKey(name, $0.key), $0.value) },
                        uniquingKeysWith: { first, _ in first }))
            ])
        }
        let result = experiment.run(for: &subject)
        guard result.isInExperiment, document.variations.indices.contains(result.variation) else { return nil }
        let variation = document.variations[result.variation]
        return Assignment(
            experiment: name, experimentID: self.id, bucketVersion: document.bucketVersion, variation: variation.key,
            unit: document.unit, unitID: id,
            configuration: document.configuration, pinned: variation.configuration, flags: variation.flags)
    }
}

extension ExperimentDocument {
    /// Whether the app version is meant, where no configuration says so.
    fileprivate func isMeant(_ attributes: FlagAttributes) -> Bool {
        guard let appVersion, configuration == nil else { return true }
        return attributes["appVersion"] == .string(appVersion)
    }
}
