/// What an import found and did: the result of its job.
struct ImportReport: Codable, Sendable, Equatable {
    static let maximumBadRecords = 100

    struct BadRecord: Codable, Sendable, Equatable {
        /// Where the record begins, from 1.
        var line: Int
        var reason: String
        var field: String?
    }

    struct Column: Codable, Sendable, Equatable {
        var name: String
        var type: ColumnType
        /// Cells that are not empty.
        var filled: Int
    }

    var collection: String
    var format: TransferFormat
    var dryRun: Bool
    /// Whether the objects were stored.
    var applied = false
    /// Records in the file, good and bad.
    var records = 0
    var good = 0
    var bad = 0
    /// The first ones, in the file's order.
    var badRecords: [BadRecord] = []
    /// CSV only.
    var columns: [Column]?
    var delimiter: String?
    var created = 0
    var replaced = 0
    var skipped = 0

    init(_ options: ImportOptions) {
        collection = options.collection
        format = options.format
        dryRun = options.dryRun
    }

    mutating func note(_ record: BadRecord) {
        bad += 1
        if badRecords.count < Self.maximumBadRecords { badRecords.append(record) }
    }

    /// Puts those found late in their place.
    mutating func sort() { badRecords.sort { $0.line < $1.line } }
}
