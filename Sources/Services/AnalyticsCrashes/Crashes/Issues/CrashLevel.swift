import MartletPostgres

/// The severity of a report. The raw value is stored in the database; a higher value is more severe.
enum CrashLevel: Int, Sendable, CaseIterable {
    case debug = 1
    case info, warning, error, fatal

    var name: String { "\(self)" }

    init?(name: some StringProtocol) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    static let names = allCases.map(\.name).joined(separator: ", ")

    /// The name of the level in a column, as SQL.
    static func name(of column: StaticString) -> PostgresQuery {
        "(ARRAY['debug', 'info', 'warning', 'error', 'fatal'])[\(unescaped: column)]"
    }
}
