import Foundation

/// An index as shown to apps.
struct IndexEntry: Encodable, Sendable {
    enum State: String, Codable, Sendable {
        /// A job is building it, and writes continue. A unique one may already refuse duplicates.
        case building
        /// Used by lists; a unique one is enforced.
        case ready
        /// The build failed for the reason in `failure`.
        case failed
    }

    struct Failure: Codable, Sendable, Equatable {
        /// An error code, `job-failed` or `job-cancelled`.
        var code: String
        var detail: String
    }

    var definition: IndexDefinition
    var state: State
    var failure: Failure?
    /// The job that builds it, or failed to.
    var job: UUID?

    init(_ definition: IndexDefinition, _ state: State, failure: Failure? = nil, job: UUID? = nil) {
        self.definition = definition
        self.state = state
        self.failure = failure
        self.job = job
    }

    private enum Key: CodingKey { case state, error, job }

    /// Encodes the definition's members together with the state of the index.
    func encode(to encoder: any Encoder) throws {
        try definition.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(state, forKey: .state)
        try container.encodeIfPresent(failure, forKey: .error)
        try container.encodeIfPresent(job?.uuidString.lowercased(), forKey: .job)
    }
}
