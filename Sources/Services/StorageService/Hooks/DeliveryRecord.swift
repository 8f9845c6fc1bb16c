import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The notification of a hook about one change, as shown by management calls: waiting, delivered or given up.
struct DeliveryRecord: Encodable, Sendable {
    enum State: String, Codable, Sendable, CaseIterable {
        case waiting, done, dead
    }

    /// The value of the header `webhook-id`, the same for every attempt.
    var id: String
    var collection: String
    var object: String
    var state: State
    var attempts: Int
    /// The status of the last answer.
    var status: Int?
    /// Why the last attempt failed.
    var error: String?
    var nextAttempt: String?
    var created: String
    var finished: String?

    static let columns: PostgresQuery = """
        d.id, d.collection, d.object, d.state, d.attempts, d.status, d.error, CASE WHEN d.state = 'waiting' THEN d.due END, d.created, d.finished
        """

    init(_ row: PostgresRow) throws {
        id = try row.decode(0)
        collection = try row.decode(1)
        object = try row.decode(2)
        guard let state = State(rawValue: try row.decode(3)) else {
            throw ServiceError(.internalError, cause: "an unknown state")
        }
        self.state = state
        attempts = try row.decode(4)
        status = try row.decode(5)
        error = try row.decode(6)
        nextAttempt = try row.decode(7, as: Date?.self).map(Timestamps.text)
        created = Timestamps.text(try row.decode(8))
        finished = try row.decode(9, as: Date?.self).map(Timestamps.text)
    }
}
