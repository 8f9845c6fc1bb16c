import Foundation
import MartletCore

/// What became of the tickets that were ever in a sprint: how they stood at any time, from what they are now and what
/// was changed.
struct SprintLog: Sendable {
    struct Ticket: Sendable {
        var created: Date
        /// Now.
        var status: String
        var sprint: Int?
        var estimate: Int?
        /// The oldest first.
        var changes: [Change] = []
    }

    struct Change: Sendable {
        enum What: Sendable {
            case status(before: String)
            case sprint(before: Int?)
            case estimate(before: Int?)
            /// Into it, or out of it.
            case bin(isIn: Bool)
        }

        var at: Date
        var what: What
    }

    /// Tickets, and what their estimates are together.
    struct Sum: Sendable, Equatable {
        var tickets = 0
        var estimate = 0

        fileprivate mutating func add(_ estimate: Int?) {
            tickets += 1
            self.estimate += estimate ?? 0
        }
    }

    /// How a sprint stood at a time.
    struct Standing: Sendable, Equatable {
        /// What was in it.
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

    /// What was put into the sprint, and what was taken out of it or into the bin, between two times.
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
    /// Nil where it was not there.
    fileprivate func state(at time: Date) -> (status: String, sprint: Int?, estimate: Int?)? {
        guard created <= time else { return nil }
        var state = (status: status, sprint: sprint, estimate: estimate)
        var isInBin = changes.last { $0.isOfBin }?.putsIntoBin ?? false
        // Back to then, from now.
        for change in changes.reversed() where change.at > time {
            switch change.what {
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
    fileprivate var isOfBin: Bool { if case .bin = what { true } else { false } }

    fileprivate var putsIntoBin: Bool { if case .bin(let isIn) = what { isIn } else { false } }
}
