import Foundation

/// The state of an alert's mail to one staff member. Stored as JSON: keep old shapes readable.
struct AlertRecipient: Codable, Sendable, Equatable {
    enum State: String, Codable, Sendable {
        /// The mail has been queued, or will be.
        case waiting
        case sent, failed
        /// The member may no longer read the app's crashes; nothing is sent.
        case skipped

        /// - Parameter mail: The state in the mail's record.
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
    /// How often the delivery to this recipient was retried by a call; each time, a new mail is queued.
    var again: Int?

    init(_ staff: UUID, _ state: State = .waiting, reason: String? = nil) {
        (self.staff, self.state, self.reason) = (staff.uuidString.lowercased(), state, reason)
    }

    /// Identifies the mail to this recipient, so that a repeated request does not send it twice.
    func origin(of message: String) -> String { "alert:\(message):\(staff)" + (again.map { ":\($0)" } ?? "") }
}

extension AlertOutcome {
    /// The outcome of a mail alert: waiting while any mail is, failed if any mail failed or none was sent, and done
    /// otherwise.
    init(_ recipients: [AlertRecipient], attempt: Int) {
        self.init()
        self.recipients = recipients
        let failed = recipients.filter { $0.state == .failed }
        if let waiting = recipients.first(where: { $0.state == .waiting }) {
            failure = "The mail has not been sent yet" + (waiting.reason.map { ": \($0)." } ?? ".")
            // The notifications service retries the mail. A further attempt here only reads the mail's state.
            retryAfter = .seconds(min(900, 2 << min(attempt, 10)))
        } else if let first = failed.first {
            failure = """
                The mail to \(failed.count) of \(recipients.count) recipients failed: \
                \(first.reason ?? "no reason known").
                """
            isFinal = true
        } else if !recipients.contains(where: { $0.state == .sent }) {
            failure = "None of the alert's recipients may read the app's crashes any more."
            isFinal = true
        }
    }
}
