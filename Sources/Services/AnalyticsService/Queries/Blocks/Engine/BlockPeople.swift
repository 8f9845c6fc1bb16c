import MartletPostgres

/// Numbers of persons, of whom a device and its account are one.
struct BlockPeople {
    private static let linksPerStatement = 100_000

    /// Whom persons turned out to be.
    private var linked = DigestTable()
    private var accounts: [UInt64] = []
    private var table = DigestTable()

    /// Persons have numbers from 1 to this; nobody has 0.
    var count: Int { table.count }

    /// - Throws: `NotInBlocks` when more than `limit` persons turned out to be others; as `BlockReader.query`.
    static func read(_ reader: BlockReader, limit: Int) async throws -> BlockPeople {
        var people = BlockPeople()
        var last = Int.min
        while true {
            let rows = try await reader.query(
                """
                SELECT person, account FROM analytics.people
                WHERE space = \(reader.span.space.id) AND account <> 0 AND person > \(last) ORDER BY person LIMIT \(linksPerStatement)
                """)
            for row in rows {
                _ = people.linked.number(of: UInt64(bitPattern: row.number(0, Int64.self)))
                people.accounts.append(UInt64(bitPattern: row.number(1, Int64.self)))
            }
            guard people.accounts.count <= limit else { throw NotInBlocks() }
            guard rows.count == linksPerStatement, let end = rows.last else { return people }
            last = try end.decode(0)
        }
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
