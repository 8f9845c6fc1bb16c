/// The findings and effects of an import: the result of its job.
struct ImportReport: Codable, Sendable, Equatable {
    static let maximumBadRecords = 100

    struct BadRecord: Codable, Sendable, Equatable {
        /// The line on which the record starts, from 1.
        var line: Int
        var reason: String
        var field: String?
    }

    struct Column: Codable, Sendable, Equatable {
        var name: String
        var type: ColumnType
        /// The number of non-empty cells.
        var filled: Int
    }

    var collection: String
    var format: TransferFormat
    var dryRun: Bool
    /// Whether the objects were stored.
    var applied = false
    /// Records in the file, valid or not.
    var records = 0
    var good = 0
    var bad = 0
    /// The first bad records, in the order of the file.
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

    mutating func record(_ record: BadRecord) {
        bad += 1
        if badRecords.count < Self.maximumBadRecords { badRecords.append(record) }
    }

    /// Restores the order of the file for records that were found to be bad later.
    mutating func sort() { badRecords.sort { $0.line < $1.line } }
}
