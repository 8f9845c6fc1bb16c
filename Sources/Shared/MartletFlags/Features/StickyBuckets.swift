import MartletFlagValues

/// The variations assigned earlier, by hashed value. Subjects keep them when weights or conditions change.
public struct StickyBuckets: Sendable, Equatable {
    public struct Document: Sendable, Equatable {
        public let attributeName: String
        public let attributeValue: String
        /// The key of the variation by `experiment__bucketVersion`.
        public var assignments: [String: String]

        public init(attributeName: String, attributeValue: String, assignments: [String: String]) {
            self.attributeName = attributeName
            self.attributeValue = attributeValue
            self.assignments = assignments
        }

        public var key: String { attributeName + "||" + attributeValue }
    }

    /// By `attribute||value`.
    public private(set) var documents: [String: Document] = [:]
    /// Keys of the documents that are new or changed and must be saved.
    public private(set) var changed: Set<String> = []

    public init(_ documents: [Document] = []) {
        for document in documents { self.documents[document.key] = document }
    }

    public static func assignmentKey(_ experiment: String, _ version: Int?) -> String {
        "\(experiment)__\(version ?? 0)"
    }

    enum Found: Equatable {
        case variation(Int)
        /// The subject was assigned under a version before `minimumBucketVersion` and no longer takes part.
        case blocked
        case nothing
    }

    func find(_ experiment: Experiment, for attributes: FlagAttributes) -> Found {
        let assignments = assignments(experiment, for: attributes)
        if let minimum = experiment.minimumBucketVersion, minimum > 0,
            (0..<min(minimum, 1_000)).contains(where: { assignments[Self.assignmentKey(experiment.key, $0)] != nil })
        {
            return .blocked
        }
        guard let key = assignments[Self.assignmentKey(experiment.key, experiment.bucketVersion)],
            let variation = experiment.variationNames.firstIndex(where: { $0.key == key })
        else { return .nothing }
        return .variation(variation)
    }

    private func assignments(_ experiment: Experiment, for attributes: FlagAttributes) -> [String: String] {
        var assignments: [String: String] = [:]
        for name in [experiment.fallbackAttribute ?? "id", experiment.hashAttribute ?? "id"] {
            guard let value = attributes.hashValue(of: name), let document = documents[name + "||" + value.text] else {
                continue
            }
            assignments.merge(document.assignments) { $1 }
        }
        return assignments
    }

    mutating func record(_ result: ExperimentResult, of experiment: Experiment) {
        let key = result.hashAttribute + "||" + result.hashValue.text
        var document =
            documents[key]
            ?? Document(attributeName: result.hashAttribute, attributeValue: result.hashValue.text, assignments: [:])
        let assignment = Self.assignmentKey(experiment.key, experiment.bucketVersion)
        guard document.assignments[assignment] != result.key else { return }
        document.assignments[assignment] = result.key
        documents[key] = document
        changed.insert(key)
    }
}
