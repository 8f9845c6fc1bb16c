/// Knows under which role the next statement of a pipelined connection would run.
///
/// A switch (`SET ROLE`) travels in one segment with the statement that needs it, so the statement is skipped when the switch fails, and
/// PostgreSQL takes the switch back when the statement fails. The role is therefore certain only as far as segments have been answered:
/// a statement may go without a switch only if the last answered switch was to its role and every unanswered one is, too.
struct RoleTracker {
    /// The role after all answered segments; unknown after something that we cannot follow.
    private enum Confirmed: Equatable {
        case role(PostgresIdentifier?)
        case unknown
    }

    private var confirmed = Confirmed.role(nil)
    /// The target of the newest switch that was sent, and its segment.
    private var newest: (target: PostgresIdentifier?, segment: Int) = (nil, 0)
    /// The newest segment that switched to another role than `newest.target`.
    private var lastForeignSegment = 0
    private var lastAnsweredSegment = 0

    /// Whether a statement for `role`, sent now, needs a switch in its segment.
    func needsSwitch(to role: PostgresIdentifier?) -> Bool {
        guard confirmed == .role(role) else { return true }
        let noneInFlight = newest.segment <= lastAnsweredSegment
        return !noneInFlight && (newest.target != role || lastForeignSegment > lastAnsweredSegment)
    }

    /// Segments are numbered from 1 in the order they are sent.
    mutating func didSendSwitch(to role: PostgresIdentifier?, segment: Int) {
        if newest.target != role { lastForeignSegment = newest.segment }
        newest = (role, segment)
    }

    /// Call for every segment, in order. `switchedTo` is the role it switched to, if it did and succeeded.
    mutating func didAnswer(segment: Int, switchedTo role: PostgresIdentifier??) {
        lastAnsweredSegment = segment
        if let role { confirmed = .role(role) }
    }

    /// The next statement will switch, whatever its role.
    mutating func invalidate() {
        confirmed = .unknown
    }
}
