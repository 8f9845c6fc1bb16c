import Foundation
import MartletCore

/// Reconstructs the state of a sprint's tickets at any time, from their current state and their recorded changes.
/// Includes every ticket that was ever in the sprint.
struct SprintLog: Sendable {
    struct Ticket: Sendable {
        var created: Date
        /// The current status.
        var status: String
        var sprint: Int?
        var estimate: Int?
        /// The oldest first.
        var changes: [Change] = []
    }

    struct Change: Sendable {
        enum Kind: Sendable {
            case status(before: String)
            case sprint(before: Int?)
            case estimate(before: Int?)
            /// Deleted or restored.
            case bin(isIn: Bool)
        }

        var at: Date
        var kind: Kind
    }

    /// A number of tickets, and the sum of their estimates.
    struct Sum: Sendable, Equatable {
        var tickets = 0
        var estimate = 0

        fileprivate mutating func add(_ estimate: Int?) {
            tickets += 1
            self.estimate += estimate ?? 0
        }
    }

    /// The state of a sprint at one time.
    struct Standing: Sendable, Equatable {
        /// All tickets in the sprint.
        var scope = Sum()
        var complete = Sum()
    }

    let sprint: Int
    let tickets: [Ticket]

    func standing(at time: Date) -> Standing {
        tickets.reduce(into: Standing()) { standing, ticket in
            guard let state = ticket.state(at: time), state.sprint == sprint else { return }
            standing.scope.add(state.estimate)
            if state.status == TicketStatus.complete.rawValue { standing.complete.add(state.estimate) }
        }
    }

    /// The tickets added to the sprint, and those removed or deleted, between two times.
    func moved(from start: Date, to end: Date) -> (added: Sum, removed: Sum) {
        tickets.reduce(into: (added: Sum(), removed: Sum())) { sums, ticket in
            let (before, after) = (ticket.state(at: start), ticket.state(at: end))
            switch (before?.sprint == sprint, after?.sprint == sprint) {
            case (false, true): sums.added.add(after?.estimate)
            case (true, false): sums.removed.add(before?.estimate)
            default: break
            }
        }
    }
}

extension SprintLog.Ticket {
    /// Nil if the ticket did not exist or was deleted.
    fileprivate func state(at time: Date) -> (status: String, sprint: Int?, estimate: Int?)? {
        guard created <= time else { return nil }
        var state = (status: status, sprint: sprint, estimate: estimate)
        var isInBin = changes.last { $0.isOfBin }?.putsIntoBin ?? false
        // Undoes changes, from the latest back to that time.
        for change in changes.reversed() where change.at > time {
            switch change.kind {
            case .status(let before): state.status = before
            case .sprint(let before): state.sprint = before
            case .estimate(let before): state.estimate = before
            case .bin(let isIn): isInBin = !isIn
            }
        }
        return isInBin ? nil : state
    }
}

extension SprintLog.Change {
    fileprivate var isOfBin: Bool { if case .bin = kind { true } else { false } }

    fileprivate var putsIntoBin: Bool { if case .bin(let isIn) = kind { isIn } else { false } }
}
