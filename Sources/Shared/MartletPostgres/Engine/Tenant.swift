/// The waiting statements of one role and the connections it uses.
///
/// Confined to the engine's thread.
final class Tenant {
    /// Statements not sent yet.
    var waiting = RequestQueue()
    /// Whether the role is in the rotation.
    fileprivate var isListed = false
    /// Number of statements in flight per connection. Short, so not a dictionary.
    private var inFlight: [(connection: Int, count: Int)] = []

    /// Whether nothing is waiting or in flight.
    fileprivate var isGone: Bool { !isListed && waiting.isEmpty && inFlight.isEmpty }

    var connectionCount: Int { inFlight.count }

    func didSend(on connection: Int) {
        if let index = inFlight.firstIndex(where: { $0.connection == connection }) {
            inFlight[index].count += 1
        } else {
            inFlight.append((connection, 1))
        }
    }

    func didAnswer(on connection: Int) {
        guard let index = inFlight.firstIndex(where: { $0.connection == connection }) else { return }
        inFlight[index].count -= 1
        if inFlight[index].count == 0 { inFlight.remove(at: index) }
    }

    /// Forgets a lost connection and everything sent on it.
    func forget(connection: Int) {
        inFlight.removeAll { $0.connection == connection }
    }
}

/// Unsent statements by role. Roles take turns, so a role with a long queue or without a connection delays no other.
struct TenantQueues {
    private static let maximumIdle = 1024

    /// Number of statements that were not given up.
    private(set) var count = 0
    private var tenants: [PostgresIdentifier?: Tenant] = [:]
    private var turns = FIFO<Tenant>()

    var isEmpty: Bool { count == 0 }

    mutating func append(_ request: Request) {
        let tenant = tenant(of: request.query.role)
        request.tenant = tenant
        tenant.waiting.append(request)
        didAdd(to: tenant)
    }

    /// Returns a request to the front of its role's queue.
    mutating func prepend(_ request: Request) {
        let tenant = request.tenant ?? tenant(of: request.query.role)
        request.tenant = tenant
        tenant.waiting.prepend(request)
        didAdd(to: tenant)
    }

    /// Records that a queued request was given up.
    mutating func didGiveUp(_ request: Request) {
        request.tenant?.waiting.didGiveUp()
        count -= 1
    }

    /// The next role in the rotation and its first statement. The caller then calls `take` or `returnTurns`.
    mutating func next() -> (tenant: Tenant, request: Request)? {
        while let tenant = turns.popFirst() {
            if let request = tenant.waiting.first() { return (tenant, request) }
            tenant.isListed = false
        }
        return nil
    }

    /// Removes the first statement and moves the role to the end of the rotation.
    mutating func take(from tenant: Tenant) {
        tenant.waiting.removeFirst()
        count -= 1
        turns.append(tenant)
    }

    /// Removes the first statement without changing the rotation.
    mutating func takeOutOfTurn(from tenant: Tenant) {
        tenant.waiting.removeFirst()
        count -= 1
    }

    /// Whether any role with waiting statements satisfies `isWanted`.
    func contains(where isWanted: (Tenant) -> Bool) -> Bool {
        turns.contains { !$0.waiting.isEmpty && isWanted($0) }
    }

    /// Returns the roles to the front of the rotation.
    mutating func returnTurns(of stuck: [Tenant]) {
        for tenant in stuck.reversed() { turns.prepend(tenant) }
    }

    func forEach(_ body: (Request) -> Void) {
        turns.forEach { $0.waiting.forEach(body) }
    }

    private mutating func didAdd(to tenant: Tenant) {
        count += 1
        if !tenant.isListed {
            tenant.isListed = true
            turns.append(tenant)
        }
    }

    private mutating func tenant(of role: PostgresIdentifier?) -> Tenant {
        if let tenant = tenants[role] { return tenant }
        if tenants.count >= Self.maximumIdle { tenants = tenants.filter { !$0.value.isGone } }
        let tenant = Tenant()
        tenants[role] = tenant
        return tenant
    }
}
