import MartletPostgres

/// Numbers persons for a question. A device and its account share a number.
struct BlockPeople {
    private static let linksPerStatement = 100_000

    /// Persons that are linked to an account; a person's number here is the index of the account in `accounts`.
    private var linked = DigestTable()
    private var accounts: [UInt64] = []
    /// The persons found so far; the account takes the place of a linked person.
    private var table = DigestTable()

    /// The highest number. Persons are numbered from 1; 0 stands for nobody.
    var count: Int { table.count }

    /// - Throws: `NotInBlocks` if there are more than `limit` links; as `BlockReader.query`.
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
