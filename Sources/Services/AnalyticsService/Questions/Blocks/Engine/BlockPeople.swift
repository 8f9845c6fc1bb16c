import MartletPostgres

/// Numbers of persons, of whom a device and its account are one.
struct BlockPeople {
    /// Whom persons turned out to be.
    private var linked = DigestTable()
    private var accounts: [UInt64] = []
    private var table = DigestTable()

    /// Persons have numbers from 1 to this; nobody has 0.
    var count: Int { table.count }

    /// - Returns: nil when more than `limit` persons turned out to be others.
    static func read(_ space: Space, limit: Int, _ transaction: PostgresTransaction) async throws -> BlockPeople? {
        let rows = try await transaction.query(
            "SELECT person, account FROM analytics.people WHERE space = \(space.id) AND account <> 0 ORDER BY person LIMIT \(limit + 1)")
        guard rows.count <= limit else { return nil }
        var people = BlockPeople()
        for row in rows {
            _ = people.linked.number(of: UInt64(bitPattern: row.number(0, Int64.self)))
            people.accounts.append(UInt64(bitPattern: row.number(1, Int64.self)))
        }
        return people
    }

    mutating func numbers(of persons: [UInt64]) -> [UInt32] {
        var numbers: [UInt32] = []
        numbers.reserveCapacity(persons.count)
        let hasLinks = !accounts.isEmpty
        for person in persons {
            if hasLinks, let link = linked.find(person) {
                numbers.append(table.number(of: accounts[Int(link)]) + 1)
            } else {
                numbers.append(person == 0 ? 0 : table.number(of: person) + 1)
            }
        }
        return numbers
    }
}
