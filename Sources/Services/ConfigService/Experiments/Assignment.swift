import Foundation
import MartletAPI
import MartletCore
import MartletFlags

/// The user and device that experiments assign variations to.
struct ExperimentUnit: Sendable, Hashable {
    static let maximumLengthInBytes = 128

    /// The end user's id.
    var userID: String?
    /// The app's own id of the device or installation. An empty id or one longer than 128 bytes is ignored.
    var deviceID: String?

    init(userID: String? = nil, deviceID: String? = nil) {
        self.userID = Self.checked(userID)
        self.deviceID = Self.checked(deviceID)
    }

    subscript(unit: ExperimentDocument.Unit) -> String? { unit == .user ? userID : deviceID }

    private static func checked(_ id: String?) -> String? {
        // UUIDs are lowercased, so that different spellings of an id are one unit.
        id.flatMap {
            (1...maximumLengthInBytes).contains($0.utf8.count)
                ? UUID(uuidString: $0)?.uuidString.lowercased() ?? $0 : nil
        }
    }
}

/// A unit's variation in an experiment.
struct Assignment: Sendable {
    let experiment: String
    /// The experiment's id in exposures.
    let experimentID: String
    let bucketVersion: Int
    let variation: String
    let unit: ExperimentDocument.Unit
    /// The id of the unit.
    let unitID: String
    /// The tested configuration; nil if there is none.
    let configuration: String?
    /// The version that replaces the live one; nil if none does.
    let pinned: PinnedVersion?
    /// The values that replace the flags' own.
    let flags: [JSONValue.Member]

    /// The form used in answers and in the header `Experiments`.
    var text: String { experiment + "=" + variation }
}

extension LiveSpace {
    /// The experiments running at `date`, by name.
    func runningExperiments(at date: Date) -> [CompiledExperiment] {
        documents(of: .experiment).compactMap { live in
            guard var compiled = live.compiled as? CompiledExperiment, compiled.document.isRunning(at: date) else {
                return nil
            }
            compiled.id = ExperimentDocument.id(of: compiled.name, from: live.firstVersion)
            return compiled
        }
    }

    /// A unit's variations in all running experiments, identical on every instance. They are computed from a hash of
    /// the unit's id. Experiments in a later phase also use the earlier assignments.
    ///
    /// - Parameters:
    ///   - attributes: The attributes that conditions test; `userId` and `deviceId` are added.
    ///   - history: The unit's earlier variations by experiment id and bucket version. If nil, experiments that need
    ///     the history leave the unit out.
    func assignments(
        for unit: ExperimentUnit, _ attributes: FlagAttributes, at date: Date, history: [String: [Int: String]]? = nil
    ) -> [Assignment] {
        var attributes = attributes
        for kind in ExperimentDocument.Unit.allCases { attributes[kind.attribute] = unit[kind].map { .string($0) } }
        return runningExperiments(at: date).compactMap { compiled in
            guard let id = unit[compiled.document.unit], history != nil || !compiled.document.needsHistory else {
                return nil
            }
            guard compiled.document.appliesToAppVersion(attributes) else { return nil }
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
    /// Whether the experiment applies to the subject's app version. A tested configuration already implies the version.
    fileprivate func appliesToAppVersion(_ attributes: FlagAttributes) -> Bool {
        guard let appVersion, configuration == nil else { return true }
        return attributes["appVersion"] == .string(appVersion)
    }
}
