import Foundation

/// An index as an app sees it.
struct IndexEntry: Encodable, Sendable {
    enum State: String, Codable, Sendable {
        /// A job builds it, and writes go on. A unique one may refuse them already.
        case building
        /// Lists use it; a unique one holds.
        case ready
        /// There is none; `failure` says why.
        case failed
    }

    struct Failure: Codable, Sendable, Equatable {
        /// Of an error, or of a job.
        var code: String
        var detail: String
    }

    var definition: IndexDefinition
    var state: State
    var failure: Failure?
    /// The job that builds it or did not.
    var job: UUID?

    init(_ definition: IndexDefinition, _ state: State, failure: Failure? = nil, job: UUID? = nil) {
        self.definition = definition
        self.state = state
        self.failure = failure
        self.job = job
    }

    private enum Key: CodingKey { case state, error, job }

    /// The definition's members, and what is known of the index beside them.
    func encode(to encoder: any Encoder) throws {
        try definition.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(state, forKey: .state)
        try container.encodeIfPresent(failure, forKey: .error)
        try container.encodeIfPresent(job?.uuidString.lowercased(), forKey: .job)
    }
}
