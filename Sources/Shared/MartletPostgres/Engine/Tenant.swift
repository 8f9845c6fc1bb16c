/// What one role waits for, and which connections its statements are on.
///
/// Lives on the engine's thread.
final class Tenant {
    /// Statements not yet sent.
    var waiting = RequestQueue()
    /// Listed among those whose turn comes.
    fileprivate var isListed = false
    /// Connections that its statements are in flight on, and how many; few, so not a dictionary.
    private var inFlight: [(connection: Int, count: Int)] = []

    /// Nothing waits and nothing is in flight.
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

    /// The connection is lost, and all that was on it.
    func forget(connection: Int) {
        inFlight.removeAll { $0.connection == connection }
    }
}

/// Statements not yet sent, by role. The roles take turns: one with a long queue, or with nowhere to go, delays no other.
struct TenantQueues {
    private static let maximumIdle = 1024

    /// Statements that somebody waits for.
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

    /// Puts back what was taken, ahead of its role's others.
    mutating func prepend(_ request: Request) {
        let tenant = request.tenant ?? tenant(of: request.query.role)
        request.tenant = tenant
        tenant.waiting.prepend(request)
        didAdd(to: tenant)
    }

    /// A request in the queue was given up.
    mutating func didGiveUp(_ request: Request) {
        request.tenant?.waiting.didGiveUp()
        count -= 1
    }

    /// The role whose turn it is, and its first statement. The caller says what becomes of it by `take` or `returnTurns`.
    mutating func next() -> (tenant: Tenant, request: Request)? {
        while let tenant = turns.popFirst() {
            if let request = tenant.waiting.first() { return (tenant, request) }
            tenant.isListed = false
        }
        return nil
    }

    /// Takes the first statement out; the role goes to the end of the line.
    mutating func take(from tenant: Tenant) {
        tenant.waiting.removeFirst()
        count -= 1
        turns.append(tenant)
    }

    /// Takes the first statement out; the role keeps its place.
    mutating func takeOutOfTurn(from tenant: Tenant) {
        tenant.waiting.removeFirst()
        count -= 1
    }

    /// Whether there is such a role with statements.
    func contains(where isWanted: (Tenant) -> Bool) -> Bool {
        turns.contains { !$0.waiting.isEmpty && isWanted($0) }
    }

    /// The roles keep their places, ahead of all others.
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
