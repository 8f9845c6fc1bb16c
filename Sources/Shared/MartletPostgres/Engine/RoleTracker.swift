/// Tracks the role under which the next statement on a pipelined connection would run.
///
/// `SET ROLE` is sent in the same segment as the statement that needs it. If the switch fails, the statement is
/// skipped; if the statement fails, PostgreSQL reverts the switch. The role is therefore certain only up to the last
/// answered segment. A statement may omit the switch only if the last answered switch and all unanswered ones are to
/// its role.
struct RoleTracker {
    /// The role after all answered segments; unknown after a script, which may have changed it.
    private enum Confirmed: Equatable {
        case role(PostgresIdentifier?)
        case unknown
    }

    private var confirmed = Confirmed.role(nil)
    /// The target and segment of the latest switch that was sent.
    private var newest: (target: PostgresIdentifier?, segment: Int) = (nil, 0)
    /// The latest segment that switched to a role other than `newest.target`.
    private var lastForeignSegment = 0
    private var lastAnsweredSegment = 0

    /// Whether a statement for `role`, if sent now, needs a switch in its segment.
    func needsSwitch(to role: PostgresIdentifier?) -> Bool {
        guard confirmed == .role(role) else { return true }
        let noneInFlight = newest.segment <= lastAnsweredSegment
        return !noneInFlight && (newest.target != role || lastForeignSegment > lastAnsweredSegment)
    }

    /// Records a sent switch. Segments are numbered from 1 in the order they are sent.
    mutating func didSendSwitch(to role: PostgresIdentifier?, segment: Int) {
        if newest.target != role { lastForeignSegment = newest.segment }
        newest = (role, segment)
    }

    /// Call for every answered segment, in order. `switchedTo` is the role it successfully switched to, if any.
    mutating func didAnswer(segment: Int, switchedTo role: PostgresIdentifier??) {
        lastAnsweredSegment = segment
        if let role { confirmed = .role(role) }
    }

    /// Forces a switch before the next statement, whatever its role.
    mutating func invalidate() {
        confirmed = .unknown
    }
}
