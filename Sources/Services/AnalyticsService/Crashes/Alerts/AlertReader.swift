import Foundation

/// What became of an alert's mail to a staff member. Lies in the table as JSON: keep old shapes readable.
struct AlertReader: Codable, Sendable, Equatable {
    enum State: String, Codable, Sendable {
        /// It is ordered, or will be.
        case waiting
        case sent, failed
        /// The member may not hear of it any more: nothing is sent.
        case skipped

        /// - Parameter mail: the state of a mail's record.
        init(mail: String) {
            switch mail {
            case "sent": self = .sent
            case "queued": self = .waiting
            default: self = .failed
            }
        }
    }

    var staff: String
    var state: State
    var reason: String?
    /// How often somebody had what failed tried again: each time is another mail.
    var again: Int?

    init(_ staff: UUID, _ state: State = .waiting, reason: String? = nil) {
        (self.staff, self.state, self.reason) = (staff.uuidString.lowercased(), state, reason)
    }

    /// What makes the mail to them one and the same, however often it is ordered.
    func origin(of message: String) -> String { "alert:\(message):\(staff)" + (again.map { ":\($0)" } ?? "") }
}

extension AlertOutcome {
    /// Of mail: done when everybody's is, waiting while one's is, else failed, as nobody of those who should has read of it.
    init(_ readers: [AlertReader], attempt: Int) {
        self.init()
        self.readers = readers
        let failed = readers.filter { $0.state == .failed }
        if let waiting = readers.first(where: { $0.state == .waiting }) {
            failure = "The mail has not left yet" + (waiting.reason.map { ": \($0)." } ?? ".")
            // Somebody else tries to send it; it is only asked for.
            retryAfter = .seconds(min(900, 2 << min(attempt, 10)))
        } else if let first = failed.first {
            failure = "\(failed.count) of \(readers.count) were not mailed: \(first.reason ?? "no reason known")."
            isFinal = true
        } else if !readers.contains(where: { $0.state == .sent }) {
            failure = "Nobody of its staff may read the app's crashes any more."
            isFinal = true
        }
    }
}
