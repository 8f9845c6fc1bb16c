import MartletPostgres

/// Fields that the server maintains for every object, in addition to the client's document.
enum SystemField: String, CaseIterable {
    case id = "_id"
    case created
    case updated
    case deleted
    case version = "_version"
    case readers = "_readers"
    case writers = "_writers"

    var column: PostgresQuery {
        switch self {
        case .id: "id"
        case .created: "created"
        case .updated: "updated"
        case .deleted: "deleted"
        case .version: "version"
        case .readers: "readers"
        case .writers: "writers"
        }
    }

    /// Names that clients may send back; they are not stored in the document.
    static let names = allCases.map(\.rawValue)
}
